// SPDX-License-Identifier: Apache-2.0
// ir::simplify: lists that nobody sees are replaced by their elements.
//
// Program-generated code (PyTorch's Dynamo from 2.13 on) passes live values through lists that it
// builds, slices, pops and extends in the same frame. A list made here that has not escaped is
// known element by element (scalar replacement of aggregates): reading it is naming the element,
// changing it is bookkeeping of ours. Where it escapes, it is built on the spot, with what it holds
// then. Building a list neither raises nor is seen, so no effect moves; the values it held are
// still computed where they were.
#pragma once

#include "ir/function.h"

namespace pellucid::ir {

// Unless it is known to be generated, leaves code alone that a compiler could have made (no list is
// changed below the top of the stack).
void simplify(const object::Module& module, Function& function, bool is_generated = false);

}  // namespace pellucid::ir
