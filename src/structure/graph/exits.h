// SPDX-License-Identifier: Apache-2.0
// Exits: blocks that only leave, recognised by what they compute rather than by their position.
#pragma once

#include "structure/graph/graph.h"

namespace pellucid::structure {

// Returns true if the items of the block, from item `from` on, raise nothing: they load constants,
// drop constants and the iterators of loops, or are markers.
bool cannot_raise(const Graph& graph, BlockId block, size_t from = 0);

// Returns true if the block cannot raise from item `from` on, and returns.
bool only_returns(const Graph& graph, BlockId block, size_t from = 0);

// Returns true if the source may contain a `return`: a module or a class only has an implicit one.
bool may_return(const Graph& graph, const object::Module& module);

}  // namespace pellucid::structure
