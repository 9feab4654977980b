// SPDX-License-Identifier: Apache-2.0
// Unfold: constants that are tested although compilers know what they come to.
//
// What was a constant from the start would not be tested. A tuple that became one only when the
// code was optimised is: an f-string without pieces was a part of it, as it was of a set of
// constants that is looked through without being one.
#pragma once

#include "structure/graph/graph.h"

namespace pellucid::structure {

// Before reduce_conditions: tests are still the ends of blocks.
void unfold_tested(Graph& graph, const object::Module& module);

}  // namespace pellucid::structure
