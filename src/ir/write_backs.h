// SPDX-License-Identifier: Apache-2.0
// ir::drop_write_backs: drops stores of arguments of generated code to where they already are.
//
//   n = n         of an argument, in a local or in a cell, because an inner function refers to it
//
// Dynamo restores both, changed or not. A local belongs to the frame alone. As long as only the
// frame has a cell, nothing else can have changed it: a function that refers to it may have been
// made, but not passed on. verify/walk/cells.cpp is the proof's own view of this.
#pragma once

#include <functional>

#include "ir/function.h"

namespace pellucid::ir {

// `is_maker`: returns true if a value is a call that makes a function of its operands, and does not
// pass it on. The uses of values have to be recounted.
void drop_write_backs(const object::Module& module, const std::function<bool(ValueId)>& is_maker,
                      Function& function);

// The same for arguments in locals, where Dynamo continues with the rest of the function itself.
// The lists in which it keeps such values have to be dissolved before (simplify.h).
void drop_stores_in_locals(const object::Module& module, Function& function);

}  // namespace pellucid::ir
