// SPDX-License-Identifier: Apache-2.0
// Conditions: short-circuit and conditional control flow -> Region values.
//
// `a and b`, `x if c else y`, `a < b < c` compile to branches around expressions. Each rule looks
// at a block A that ends in a branch and at the blocks that only A leads to; where these compute
// one value and do nothing else, A computes the whole as one Region value:
//
//   A ? B : S, B ? T : S      A and B                 (and its three mirror images)
//   A ? B : J(A), B -> J      A and B as a value      (J takes the value that decided)
//   A ? B : C, both ? T : S   B if A else C, tested
//   A ? B : C, both -> J      B if A else C as a value
//   A ? B : B                 (A or True) and B, tested; B if A or True else None as a value
//
// A comparison whose right operand the next one compares again is a chain. Applied bottom-up until
// nothing changes; every application removes a block.
#pragma once

#include "object/code.h"
#include "structure/graph/graph.h"

namespace pellucid::structure {

// Adds to the module the constants that it needs and lacks.
void reduce_conditions(Graph& graph, object::Module& module);

}  // namespace pellucid::structure
