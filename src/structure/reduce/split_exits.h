// SPDX-License-Identifier: Apache-2.0
// Exits of clauses and loops: a block ends where an except clause does, and where a loop does that
// is left by `break`.
#pragma once

#include "structure/graph/graph.h"

namespace pellucid::structure {

// Before: a block may go on with what follows a clause (after its PopExcept, or after a jump
// statement that has left a region) or a `for` loop (after the Pop of its iterator).
// After: each of these is the last item of its block, which leads to what follows. A `return` that
// may be a statement of the clause stays in its block.
void split_exits(Graph& graph, const object::Module& module);

}  // namespace pellucid::structure
