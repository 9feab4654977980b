// SPDX-License-Identifier: Apache-2.0
// flow: whether the slots that a handler keeps are still there when an exception is raised.
//
// CPython unwinds to the handler's slots only from above. How many of the slots that an instruction
// takes are left when it raises, and which of them are NULL, differs between instructions and
// versions. So a handler may keep only slots below these, as a compiler's handlers all do.
// Private to audit.cpp.
#pragma once

#include <optional>

#include "bytecode/breaches.h"
#include "flow/graph.h"

namespace pellucid::flow {

// Returns the first instruction that may raise and takes or pushes a slot that its handler keeps.
std::optional<bytecode::Breach> takes_kept_slot(const Graph& graph);

}  // namespace pellucid::flow
