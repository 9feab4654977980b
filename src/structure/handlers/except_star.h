// SPDX-License-Identifier: Apache-2.0
// ExceptStar: the clauses of `except*` brought into the form of those of `except`.
//
// Each clause splits the group that is still unhandled, runs its body under a handler that keeps
// what the body raises, and goes on with the next clause; after the last one, what was raised and
// what is left are raised together. None of that is in the source: a clause becomes one test whose
// body leads after the statement and whose other side is the next clause, or raises again.
#pragma once

#include "structure/graph/graph.h"

namespace pellucid::structure {

// Marks the handlers as ExceptStar. Those of another form stay as they are.
void fold_except_star(Graph& graph);

}  // namespace pellucid::structure
