// SPDX-License-Identifier: Apache-2.0
// Splits blocks in which the stack that a handler sees, or the level of exception handling,
// changes.
#pragma once

#include "flow/graph.h"

namespace pellucid::ir {

// Returns the same graph, in which the number of exceptions being handled, and a stack slot that
// the handler of a block keeps, change only at the end of a block. Blocks keep their ids; new ones
// come after the old, out of the order of the bytecode.
flow::Graph split_for_slots(const flow::Graph& graph);

}  // namespace pellucid::ir
