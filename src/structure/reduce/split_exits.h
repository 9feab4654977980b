// SPDX-License-Identifier: Apache-2.0
// Exits of clauses and loops: splits a block at the end of an except clause, and at the exit of a
// loop by `break`.
#pragma once

#include "structure/graph/graph.h"

namespace pellucid::structure {

// Before: a block may continue with the code after a clause (after its PopExcept, or after a jump
// statement that has left a region) or after a `for` loop (after the Pop of its iterator).
// After: each of these items is the last one of its block. A `return` that may be a statement of
// the clause stays in its block.
void split_exits(Graph& graph, const object::Module& module);

}  // namespace pellucid::structure
