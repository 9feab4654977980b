// SPDX-License-Identifier: Apache-2.0
// ExceptStar: gives the clauses of `except*` the form of those of `except`.
//
// Before: each clause splits the group that is still unhandled, runs its body under a handler that
// collects the exceptions of the body, and continues with the next clause; after the last one, the
// collected exceptions and the unhandled rest are raised together (compiler_try_star_except).
// After: a clause is one test. Its body leads to the code after the statement; its other edge leads
// to the next clause, or raises again.
#pragma once

#include "structure/graph/graph.h"

namespace pellucid::structure {

// Marks the handlers as ExceptStar. Handlers of another form are unchanged.
void fold_except_star(Graph& graph);

}  // namespace pellucid::structure
