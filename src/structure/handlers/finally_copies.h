// SPDX-License-Identifier: Apache-2.0
// Copies: the body of a `finally` matched against its copies on the normal ways out.
#pragma once

#include <span>

#include "structure/graph/graph.h"

namespace pellucid::structure {

// Takes the copies of the handler's body away from every way out of its region, whose blocks are
// given, and leaves a marker there. False, with the graph as it was, if some way out has no copy.
// recompute() is due afterwards.
bool strip_copies(Graph& graph, const object::Module& module, HandlerId handler,
                  std::span<const BlockId> region);

// Returns true if every way out of the region runs the handler's body, and one has computed a value
// that goes there: only a `return` does so, whose `finally` body goes another way. Where marks tell
// of jump statements (ir::Function::marks_ends) nothing is read from that.
bool overtakes_value(const Graph& graph, const object::Module& module, HandlerId handler,
                     std::span<const BlockId> region);

}  // namespace pellucid::structure
