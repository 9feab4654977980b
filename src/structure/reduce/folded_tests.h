// SPDX-License-Identifier: Apache-2.0
// Unfold: undoes the constant folding of tested values, and of copies.
//
// The compiler removes a test of a value that is constant in the source. A tuple that became
// constant only by optimisation stays tested: an f-string without pieces was an element. The same
// holds of a set of constants that `in` or a loop reads, and that is no constant itself.
// Before: a test of such a tuple, a use of such a set.
// After: one of the elements is an empty f-string.
//
// `return (a if c else b), d` compiles to two endings. If all are constants, the one that is a copy
// is a constant tuple, the other builds one.
// Before: an ending with a constant tuple, another one on its line that builds such a tuple.
// After: both build it.
#pragma once

#include "structure/graph/graph.h"

namespace pellucid::structure {

// Before join_statements: copies are compared there.
void unfold_copies(Graph& graph, const object::Module& module);

// Before reduce_conditions: tests are still the ends of blocks.
void unfold_tested(Graph& graph, const object::Module& module);

}  // namespace pellucid::structure
