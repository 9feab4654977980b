// SPDX-License-Identifier: Apache-2.0
// flow::build: a canonical instruction stream -> its control-flow graph.
#pragma once

#include "base/result.h"
#include "flow/graph.h"

namespace pellucid::flow {

// Errors (with the byte offset) name what makes the bytecode invalid: a jump out of the code, a
// stack that underflows or that two ways in disagree about, a fall off the end.
//
// END_FINALLY of 3.8 lies before where its statement goes on, also if control never gets there
// because every way through the statement leaves it otherwise. `keep_ends` keeps what is said so:
// see Graph::marks_ends. It also keeps bodies of `try` that have no code:
// Graph::marks_empty_bodies.
Result<Graph> build(const object::Module& module, const bytecode::Stream& stream,
                    bool keep_ends = false);

}  // namespace pellucid::flow
