// SPDX-License-Identifier: Apache-2.0
// flow: the rules for control flow and the stack of a code object that CPython relies on its
// compiler for, and a proof does too.
//
// The kind of each stack slot is followed along all paths: NULLs and the two slots of a method
// reach only calls, a value saved by LOAD_FAST_AND_CLEAR only the local that it came from, a saved
// exception only POP_EXCEPT. Cells are made once and before they are used, unchecked loads (3.12+)
// are of bound locals, borrowed ones (3.14+) of locals that keep their value, the exception state
// is restored on every exit, handlers keep no slot that what raises takes, and the stack is large
// enough.
#pragma once

#include <optional>

#include "bytecode/breaches.h"
#include "bytecode/stream.h"
#include "flow/graph.h"

namespace pellucid::flow {

// Returns the first breach of these rules, and its place. Program-generated code may keep a slot
// that what raises takes, if its handler never looks at it.
std::optional<bytecode::Breach> audit(const object::Module& module, const bytecode::Stream& stream,
                                      const Graph& graph, bool is_generated);

}  // namespace pellucid::flow
