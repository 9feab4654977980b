// flow::build: a canonical instruction stream -> its control-flow graph.
#pragma once

#include "base/result.h"
#include "flow/graph.h"

namespace pellucid::flow {

// Errors (with the byte offset) name what makes the bytecode invalid: a jump out of the code, a
// stack that underflows or that two ways in disagree about, a fall off the end.
Result<Graph> build(const object::Module& module, const bytecode::Stream& stream);

}  // namespace pellucid::flow
