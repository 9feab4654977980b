// SPDX-License-Identifier: Apache-2.0
// ir::drop_write_backs: arguments of generated code that are stored back where they are.
//
//   n = n         of an argument, in a local or in a cell, because an inner function refers to it
//
// Dynamo restores what it knows of both, changed or not. A local is the frame's alone. As long as
// nobody but the frame has a cell, nothing else can have changed it: a function that refers to it
// may have been made, but not given away. verify/walk/cells.cpp is the proof's own view of this.
#pragma once

#include <functional>

#include "ir/function.h"

namespace pellucid::ir {

// `is_maker`: whether a value is a call that makes a function of its operands, and shows it to
// nobody. The uses of values are to be counted anew.
void drop_write_backs(const object::Module& module, const std::function<bool(ValueId)>& is_maker,
                      Function& function);

// The same of arguments in locals, where Dynamo goes on with the rest of the function itself. The
// lists that it keeps such values in have to be dissolved (simplify.h).
void drop_stores_in_locals(const object::Module& module, Function& function);

}  // namespace pellucid::ir
