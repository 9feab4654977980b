// SPDX-License-Identifier: Apache-2.0
// polish: which code units the nodes of a body come from, and where those of a statement begin and
// end.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ast/tree.h"
#include "object/places.h"

namespace pellucid::polish {

class UnitEnds {
 public:
  static constexpr uint32_t kNoUnit = object::Places::kNoUnit;

  struct Range {
    uint32_t first = kNoUnit;
    uint32_t end = 0;  // one more than the last unit

    void add(Range other) {
      first = std::min(first, other.first);
      end = std::max(end, other.end);
    }
  };

  // `units`: the number of code units of the body.
  UnitEnds(const ast::Tree& tree, size_t units) : tree_(tree), units_(units) {}

  // Returns the code unit of the instruction that a node comes from; kNoUnit: it is not known.
  uint32_t unit_of(ast::NodeId node) const;

  // Returns the units of what a node holds, from the first to the last that is known. A statement
  // may be asked for at each level of those around it, so those in it are remembered: what steps
  // move or drop later does not change them.
  Range of(ast::NodeId root);

 private:
  Range own(ast::NodeId node) const {
    const uint32_t unit = unit_of(node);
    return unit == kNoUnit ? Range() : Range{unit, unit + 1};
  }

  // A statement within what of() is asked of, or that itself.
  struct Part {
    ast::NodeId node;
    size_t around;  // the part that it is in
    Range range;
  };

  const ast::Tree& tree_;
  size_t units_;
  std::unordered_map<uint32_t, Range> ranges_;  // of(), by number
  std::vector<Part> parts_;                     // of one search, as is todo_
  std::vector<std::pair<ast::NodeId, size_t>> todo_;
};

}  // namespace pellucid::polish
