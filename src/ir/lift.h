// ir::lift: a control-flow graph -> values and effects, by symbolic execution of the stack.
#pragma once

#include "base/result.h"
#include "ir/function.h"

namespace pellucid::ir {

Result<Function> lift(const object::Module& module, const flow::Graph& graph);

}  // namespace pellucid::ir
