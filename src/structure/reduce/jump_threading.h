// SPDX-License-Identifier: Apache-2.0
// Unthread: operands lead to the test of the value that they are part of.
//
// `(x if c else y or z) or w` tests what the first bracket comes to. Up to 3.11 compilers thread
// jumps: a `y` that holds goes on to where that test would lead.
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

// A test without items of its own of a parameter, with several ways into it: what lies below the
// block that dominates it, and leads where the test would lead with the value, leads to the test.
void unthread_operands(Graph& graph);

}  // namespace pellucid::structure
