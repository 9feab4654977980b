// SPDX-License-Identifier: Apache-2.0
// verify's quick answer: are two graphs the same, block by block?
#pragma once

#include "flow/graph.h"
#include "verify/domain/state.h"

namespace pellucid::verify {

// Instruction by instruction, names and constants by value; what a class body of 3.13 and later
// notes about its lines and methods aside. Pairs of nested code objects are appended to `pairs`.
bool identical(Values& values, const flow::Graph& a, const flow::Graph& b, CodePairs& pairs);

}  // namespace pellucid::verify
