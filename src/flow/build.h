// SPDX-License-Identifier: Apache-2.0
// flow::build: a canonical instruction stream -> its control-flow graph.
#pragma once

#include "base/result.h"
#include "flow/graph.h"

namespace pellucid::flow {

// Errors name, with the byte offset, what makes the bytecode invalid: a jump out of the code, a
// stack that underflows or differs between two edges into a block, a fall off the end. High stacks
// in many blocks are refused too, beyond a limit that no compiler's code comes near.
//
// END_FINALLY of 3.8 comes right before the code after its statement, even if every path through
// the statement leaves it in another way. `keep_ends` keeps such ends (Graph::marks_ends), and
// bodies of `try` without code (Graph::marks_empty_bodies).
Result<Graph> build(const object::Module& module, const bytecode::Stream& stream,
                    bool keep_ends = false);

}  // namespace pellucid::flow
