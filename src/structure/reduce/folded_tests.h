// SPDX-License-Identifier: Apache-2.0
// Unfold: undoes the constant folding of tested values.
//
// The compiler removes a test of a value that is constant in the source. A tuple that became
// constant only by optimisation stays tested: an f-string without pieces was an element. The same
// holds of a set of constants that `in` or a loop reads, and that is no constant itself.
// Before: a test of such a tuple, a use of such a set.
// After: one of the elements is an empty f-string.
#pragma once

#include "structure/graph/graph.h"

namespace pellucid::structure {

// Before reduce_conditions: tests are still the ends of blocks.
void unfold_tested(Graph& graph, const object::Module& module);

}  // namespace pellucid::structure
