// SPDX-License-Identifier: Apache-2.0
// Parameters of blocks that need not be: the phis that stand for one value, or for none.
#pragma once

#include <cstdint>
#include <vector>

#include "flow/graph.h"
#include "ir/function.h"

namespace pellucid::ir {

// How control comes to a block: over an edge, or out of a block that a handler protects.
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

  std::vector<std::vector<Way>> normal;          // by block
  std::vector<std::vector<Protected>> protects;  // by block; empty but for entries of handlers
};

// A phi that is no parameter: what a handler finds in a slot that holds one of several values.
struct Kept {
  ValueId phi;
  BlockId entry;  // of the handler
  uint32_t slot = 0;
};

// A phi whose arguments are all one value, or itself, is that value (Braun et al., CC 2013).
void remove_trivial_phis(Function& f, const Ways& ways, const std::vector<Kept>& kept);

// Where every slot of the stack is a parameter: those that hold a NULL whichever way control came
// are NULL. A slot that a handler keeps has what it had where its region was entered.
void find_nulls(Function& f, const Ways& ways);

}  // namespace pellucid::ir
