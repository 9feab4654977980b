// SPDX-License-Identifier: Apache-2.0
// The targets so far of values that are used again: of `a = b = v`, or of `(n := v)`.
#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "ast/tree.h"
#include "structure/graph/graph.h"

namespace pellucid::structure {

class PendingTargets {
 public:
  bool empty() const { return count_ == 0; }

  // Returns the value that was the first to get a target; there is one.
  ValueId first() const;

  // Returns the targets of the value; nullptr if it has none.
  const std::vector<ast::NodeId>* of(ValueId value) const;

  void add(ValueId value, ast::NodeId target);

  // Removes and returns the targets of the value; empty if it has none.
  std::vector<ast::NodeId> take(ValueId value);

 private:
  struct Assigned {
    ValueId value;  // invalid: they were taken
    std::vector<ast::NodeId> targets;
  };

  // Returns the index of the value; the size of `all_` if it has no targets.
  size_t find(ValueId value) const;

  std::vector<Assigned> all_;
  size_t count_ = 0;  // of those that were not taken
  // Where each value is, once there are many: type parameters are all pending at once.
  std::unordered_map<ValueId, size_t> places_;
};

// Returns true if all targets are names, so that they can be part of an expression: `(n := v)`.
bool are_names(const ast::Tree& tree, std::span<const ast::NodeId> targets);

}  // namespace pellucid::structure
