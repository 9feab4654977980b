// SPDX-License-Identifier: Apache-2.0
// Joins: where values meet that the stack carries, put into one form before conditions are read,
// and taken apart again where no condition explains them.
//
// `return f(a if c else b)` compiles to one ending with a parameter, `f(_); return`, or to a copy
// of it for each value: 3.8 copies the return, 3.10 and later any short ending. Endings from one
// line that differ in one value only become one block with that value as its parameter.
#pragma once

#include <vector>

#include "structure/graph/graph.h"

namespace pellucid::structure {

// Joins endings with at least `shortest` items in common. Returns the blocks that were made.
std::vector<BlockId> join_endings(Graph& graph, size_t shortest);

// The same for endings of handlers, and for others where the value does not leave the function:
// what the body of a `finally` may end with, and its copies.
std::vector<BlockId> join_statements(Graph& graph);

// The other way, for those that several values still lead to. The blocks made last come last.
void split_endings(Graph& graph, const std::vector<BlockId>& joins);

// A parameter with one way in is the value that comes by it.
void forward_single_values(Graph& graph);

}  // namespace pellucid::structure
