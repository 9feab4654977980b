// SPDX-License-Identifier: Apache-2.0
// Exits: blocks that only leave, by what they compute and not by where they lie.
#pragma once

#include "structure/graph/graph.h"

namespace pellucid::structure {

// Returns true if the items of the block, from one of them on, raise nothing: they load constants,
// drop constants and the iterators of loops, or are markers.
bool cannot_raise(const Graph& graph, BlockId block, size_t from = 0);

// Returns true if that is so, and the block returns.
bool only_returns(const Graph& graph, BlockId block, size_t from = 0);

// Returns true if a `return` can be written: not in a module or a class, where the end comes by
// itself.
bool may_return(const Graph& graph, const object::Module& module);

}  // namespace pellucid::structure
