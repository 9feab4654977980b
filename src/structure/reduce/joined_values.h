// SPDX-License-Identifier: Apache-2.0
// Joins: merge points of values on the stack, brought into one form before conditions are read, and
// duplicated again where no condition explains them.
//
// `return f(a if c else b)` compiles to one ending with a parameter, `f(_); return`, or to a copy
// of it for each value: 3.8 copies the return, 3.10 and later any short ending.
// Before: several endings from one line that differ in one value only.
// After: one block with that value as its parameter.
#pragma once

#include <vector>

#include "structure/graph/graph.h"

namespace pellucid::structure {

// Joins endings that return or raise, and appends the blocks that it made.
void join_returns(Graph& graph, std::vector<BlockId>& joins);

// Joins endings of handlers, and others whose value does not leave the function: possible ends of a
// `finally` body, and of its copies. Returns the blocks that were made.
std::vector<BlockId> join_statements(Graph& graph);

// Undoes the joins that several values still lead to. `joins` is in the order in which they were
// made.
void split_endings(Graph& graph, const std::vector<BlockId>& joins);

// Replaces the parameters of each block with a single way into it by the values of that way.
void forward_single_values(Graph& graph);

}  // namespace pellucid::structure
