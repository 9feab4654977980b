// SPDX-License-Identifier: Apache-2.0
// Endings: what two blocks that return or raise have in common at their ends, and the one value in
// which they differ. Of that, joined_values.h makes one ending with a parameter.
#pragma once

#include <optional>

#include "structure/graph/graph.h"

namespace pellucid::structure {

// Which blocks end in what is joined, and in what they may differ.
enum class EndingKind : uint8_t {
  Handler,    // those that raise the exception of a handler again: it may not differ
  Statement,  // returns and raises, where the value goes into a statement before them
  Any,        // returns and raises
};

// How many items at the end of two blocks do the same with one value different: `differs`, that of
// the first block.
struct CommonEnding {
  size_t length = 0;
  ValueId differs;
};

class Endings {
 public:
  Endings(const Graph& graph, EndingKind kind) : g_(graph), kind_(kind) {}

  // What the ends of both have in common, if it has at least `shortest` items.
  std::optional<CommonEnding> compare(BlockId x, BlockId y, size_t shortest) const;

  // Returns true if both are copies of one ending: `~(a if (b if c else d) else e)` comes to `~a`
  // by two ways, each with its own. Where nothing but that was copied, duplicated_exits.h makes one
  // of it.
  bool are_twins(BlockId x, BlockId y) const;

  // What `y` has in the place of what differs in `x`.
  ValueId counterpart(BlockId x, BlockId y, CommonEnding common) const;

 private:
  bool fail_alike(BlockId x, BlockId y) const;
  size_t longest_copy(BlockId id) const;
  std::optional<CommonEnding> equal_choice(BlockId x, BlockId y, size_t length) const;
  bool calls(BlockId block, size_t length, ValueId value) const;
  bool makes_function(BlockId block, size_t length, ValueId code) const;
  bool may_differ(ValueId id) const;
  std::optional<ValueId> difference(BlockId x, BlockId y, size_t length) const;

  const Graph& g_;
  EndingKind kind_;
};

}  // namespace pellucid::structure
