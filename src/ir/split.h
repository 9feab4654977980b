// SPDX-License-Identifier: Apache-2.0
// Splits blocks where what a handler or a level of exception handling sees would change inside.
#pragma once

#include "flow/graph.h"

namespace pellucid::ir {

// The same graph, in which no block changes how many exceptions are being handled but at its end,
// and none that is protected changes a stack slot that its handler keeps but at its end. Blocks
// keep their ids; new ones come after the old, out of the order of the bytecode.
flow::Graph split_for_slots(const flow::Graph& graph);

}  // namespace pellucid::ir
