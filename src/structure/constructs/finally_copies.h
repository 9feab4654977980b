// SPDX-License-Identifier: Apache-2.0
// Copies: matches the body of a `finally` with its copies on the normal exits.
#pragma once

#include <span>

#include "structure/graph/graph.h"

namespace pellucid::structure {

// Replaces the copies of the handler's body on every way out of its region, whose blocks are given,
// by markers. Returns false, with the graph as it was, if some way out has no copy. The caller has
// to recompute().
bool strip_copies(Graph& graph, const object::Module& module, HandlerId handler,
                  std::span<const BlockId> region);

// Returns true if every way out of the region runs the handler's body, and at least one has
// computed a value that the body discards: a `return` that the `finally` body overtakes. Returns
// false where markers show jump statements (ir::Function::marks_ends).
bool overtakes_value(const Graph& graph, const object::Module& module, HandlerId handler,
                     std::span<const BlockId> region);

}  // namespace pellucid::structure
