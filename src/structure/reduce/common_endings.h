// SPDX-License-Identifier: Apache-2.0
// Endings: the code that two blocks share at their ends, before they return or raise, and the one
// value in which they differ. joined_values.h makes one ending with a parameter of it.
#pragma once

#include <optional>

#include "structure/graph/graph.h"

namespace pellucid::structure {

// Which blocks have their endings joined, and where those may differ.
enum class EndingKind : uint8_t {
  Handler,    // those that raise a handler's exception again: it may not differ
  Statement,  // returns and raises, where the value goes into a statement before them
  Any,        // returns and raises
};

// The number of items that two blocks share at their ends with one value different: `differs`, that
// of the first block.
struct CommonEnding {
  size_t length = 0;
  ValueId differs;
};

class Endings {
 public:
  Endings(const Graph& graph, EndingKind kind) : g_(graph), kind_(kind) {}

  // Returns the common ending. Only returns and raises of any kind need no item in common.
  std::optional<CommonEnding> compare(BlockId x, BlockId y) const;

  // Returns true if both are copies of one ending: `~(a if (b if c else d) else e)` has two ways to
  // `~a`, each with a copy. If nothing else was copied, duplicated_exits.h merges them.
  bool are_twins(BlockId x, BlockId y) const;

  // Returns the value of `y` in the place of the one that differs in `x`.
  ValueId counterpart(BlockId x, BlockId y, CommonEnding common) const;

 private:
  bool fail_alike(BlockId x, BlockId y) const;
  size_t longest_copy(BlockId id) const;
  bool differ_in_line(ValueId x, ValueId y) const;
  std::optional<CommonEnding> equal_choice(BlockId x, BlockId y, size_t length) const;
  bool calls(BlockId block, size_t length, ValueId value) const;
  bool makes_function(BlockId block, size_t length, ValueId code) const;
  bool may_differ(ValueId id) const;
  std::optional<ValueId> difference(BlockId x, BlockId y, size_t length) const;

  const Graph& g_;
  EndingKind kind_;
};

}  // namespace pellucid::structure
