// SPDX-License-Identifier: Apache-2.0
// Patterns: the tests and captures of `match` statements -> one Region value for each case.
//
// Before: the subject stays on the stack while each case in turn tests it, in a ladder of branches
// whose failing edges all lead to the next case.
// After: each ladder is one branch on a Region of kind Pattern, which leads to the body with the
// names stored, or to the next case. A guard is tested after it and is joined like any other
// condition: And(pattern, guard).
#pragma once

#include "object/code.h"
#include "structure/graph/graph.h"

namespace pellucid::structure {

// Needs keep_alternatives() (or_patterns.h) before it.
void fold_matches(Graph& graph, const object::Module& module);

}  // namespace pellucid::structure
