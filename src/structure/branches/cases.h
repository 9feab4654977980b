// SPDX-License-Identifier: Apache-2.0
// Patterns: the tests and captures of `match` statements -> one Region value for each case.
//
// The subject stays on the stack while one case after the other tests it: a ladder of branches
// whose failing sides all lead to the next case. Each ladder becomes one branch on a Region of kind
// Pattern, which leads to the body with the names stored, or on. A guard is tested after it and
// joins it like any other condition: And(pattern, guard).
#pragma once

#include "object/code.h"
#include "structure/graph/graph.h"

namespace pellucid::structure {

// After keep_alternatives(), which structure/branches/or_patterns.h has.
void fold_matches(Graph& graph, const object::Module& module);

}  // namespace pellucid::structure
