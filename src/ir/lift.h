// SPDX-License-Identifier: Apache-2.0
// ir::lift: a control-flow graph -> values and effects, by symbolic execution of the stack.
#pragma once

#include "base/result.h"
#include "ir/function.h"

namespace pellucid::ir {

Result<Function> lift(const flow::Graph& graph);

// The same for code with an irregular stack: every stack slot at the start of a block is a
// parameter of it, of a handler's entry too, and edges have one argument per slot. Blocks are split
// (split.h) so that a handler finds in a slot what the block that raised began with; PushExcInfo is
// an item, the last one of its block, and so is EgMatch.
Result<Function> lift_slots(const flow::Graph& graph);

}  // namespace pellucid::ir
