// SPDX-License-Identifier: Apache-2.0
// Exits of clauses and loops: joins the copies that compilers have made of them, and splits a block
// at the end of an except clause, and at the exit of a loop by `break`.
#pragma once

#include "structure/graph/graph.h"

namespace pellucid::structure {

// Before: several blocks do nothing but leave the same regions, clauses or loops for one place.
// After: one block, where only tests lead to its copies, or a `break` out of a clause to one.
void join_exits(Graph& graph);

// Before: a block may continue with the code after a clause (after its PopExcept, or after a jump
// statement that has left a region) or after a `for` loop (after the Pop of its iterator).
// After: each of these items is the last one of its block. A `return` that may be a statement of
// the clause stays in its block.
void split_exits(Graph& graph, const object::Module& module);

}  // namespace pellucid::structure
