// SPDX-License-Identifier: Apache-2.0
// The fast path: are two graphs the same, block by block?
#pragma once

#include "flow/graph.h"
#include "verify/domain/state.h"

namespace pellucid::verify {

// Returns true if they are equal instruction by instruction, names and constants by value. Ignores
// the `__firstlineno__` and `__static_attributes__` of class bodies (3.13+). Appends the pairs of
// nested code objects to `pairs`. `is_strict`: what handles an interruption is the same, too.
bool identical(Values& values, const flow::Graph& a, const flow::Graph& b, bool is_strict,
               CodePairs& pairs);

}  // namespace pellucid::verify
