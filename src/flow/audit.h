// SPDX-License-Identifier: Apache-2.0
// flow: what CPython takes for granted of the ways through a code object and of its stack, and a
// proof too.
//
// What a slot of the stack may be is followed along all ways: NULLs and the two slots of a method
// only ever get to a call, what LOAD_FAST_AND_CLEAR has set aside to the local that it came from,
// a saved exception to POP_EXCEPT. Cells are made once and before they are used, unchecked loads
// (3.12+) are of locals that are bound, borrowed ones (3.14+) of locals that stay so, the state of
// exceptions is given back on each way out, and the stack is as large as it has to be.
#pragma once

#include <optional>

#include "bytecode/breaches.h"
#include "bytecode/stream.h"
#include "flow/graph.h"

namespace pellucid::flow {

// The first of these rules that is broken, and where.
std::optional<bytecode::Breach> audit(const object::Module& module, const bytecode::Stream& stream,
                                      const Graph& graph);

}  // namespace pellucid::flow
