// SPDX-License-Identifier: Apache-2.0
// Unthread: undoes jump threading past the test of a value.
//
// `(x if c else y or z) or w` tests the value of the first bracket. Up to 3.11 compilers thread
// jumps: a true `y` jumps to the target of that test.
//
//   c ? X : Y                                    c ? X : Y
//   X: -> T(x)                                   X: -> T(x)
//   Y: y ? J(y) : Z                      ->      Y: y ? T(y) : Z
//   Z: -> T(z)                                   Z: -> T(z)
//   T(p): p ? J(p) : W                           T(p): p ? J(p) : W
//
// The bracket is one value again, which the rules of conditions.h find.
#pragma once

#include "structure/graph/graph.h"

namespace pellucid::structure {

// For each block without items that tests its parameter and has several ways into it: redirects to
// it the branches below its immediate dominator that lead where the test leads with their value.
void unthread_operands(Graph& graph);

}  // namespace pellucid::structure
