// SPDX-License-Identifier: Apache-2.0
// bytecode: equal constants that are two objects. A text has one for both, and a program can see
// by `is` which of them it is given.
#pragma once

#include "bytecode/stream.h"

namespace pellucid::bytecode {

// Returns true if the code loads two constants that are equal, and that the compiler would have
// made one. It never makes one of two NaNs, nor, up to 3.9, of the tuples that it folds last.
bool loads_twin_constants(const object::Module& module, const Stream& stream);

}  // namespace pellucid::bytecode
