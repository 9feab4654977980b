// SPDX-License-Identifier: Apache-2.0
// flow: whether the slots that a handler keeps are still there when an exception is raised.
//
// CPython unwinds to the handler's slots only from above. How many of the slots that an instruction
// takes are left when it raises, and which of them are NULL, differs between instructions and
// versions. So a handler may keep only slots below these, as a compiler's handlers all do. Dynamo's
// keep more when a graph breaks within a `with`: what is called is on the stack before the block is
// entered. They never look at it, and leave the frame, which drops what is left.
// Private to audit.cpp.
#pragma once

#include <optional>

#include "bytecode/breaches.h"
#include "flow/graph.h"

namespace pellucid::flow {

// Returns the first instruction that may raise and takes or pushes a slot that its handler keeps,
// except in program-generated code whose handler never looks at such a slot.
std::optional<bytecode::Breach> takes_kept_slot(const Graph& graph, bool is_generated);

}  // namespace pellucid::flow
