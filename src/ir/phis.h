// SPDX-License-Identifier: Apache-2.0
// Removes needless parameters of blocks: phis that stand for one value, or for none.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "flow/graph.h"
#include "flow/lists.h"
#include "ir/function.h"

namespace pellucid::ir {

// How control enters a block: over an edge, or from a block that a handler protects.
struct Way {
  BlockId from;
  uint8_t edge = 0;
};
struct Protected {
  BlockId block;
  HandlerId handler;
};
struct Ways {
  explicit Ways(const flow::Graph& graph);

  // Returns the blocks that the handler with this entry protects; none for another block.
  std::span<const Protected> protected_by(BlockId entry) const {
    return protects_.size() == 0 ? std::span<const Protected>() : protects_[entry];
  }

  flow::ListsByBlock<Way> normal;

 private:
  flow::ListsByBlock<Protected> protects_;  // no lists if there are no handlers
};

// A phi that is no parameter: a slot in which a handler finds one of several values.
struct Kept {
  ValueId phi;
  BlockId entry;  // of the handler
  uint32_t slot = 0;
};

// Drops the NULLs in the slots of callables.
void drop_nulls(Function& f);

// Replaces a phi whose arguments are all one value, or itself, by that value (Braun et al., CC
// 2013). Drops NULLs too: one that came through a loop is known only when its phi is gone.
void remove_trivial_phis(Function& f, const Ways& ways, const std::vector<Kept>& kept);

// Replaces by NULL the parameters that are NULL on every path, in a function with every stack slot
// as a parameter. A slot that a handler keeps has the value that it had where its region was
// entered.
void find_nulls(Function& f, const Ways& ways);

}  // namespace pellucid::ir
