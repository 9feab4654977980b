// SPDX-License-Identifier: Apache-2.0
// ir::simplify: replaces lists that never escape by their elements.
//
// Program-generated code (PyTorch's Dynamo from 2.13 on) passes live values through lists that it
// builds, slices, pops and extends in the same frame. A list made here that has not escaped is
// known element by element (scalar replacement of aggregates): a read becomes the element, a change
// is only recorded. If it escapes, it is built there, with its elements at that time. Building a
// list neither raises nor can be observed, so no effect moves; the values it held are still
// computed where they were.
#pragma once

#include "ir/function.h"

namespace pellucid::ir {

// Leaves code alone that a compiler could have made (no list is changed below the top of the
// stack), unless it is known to be generated.
void simplify(const object::Module& module, Function& function, bool is_generated = false);

}  // namespace pellucid::ir
