// SPDX-License-Identifier: Apache-2.0
// bytecode: equal constants that are two objects. A text has one for both, and a program can see
// by `is` which of them it is given.
#pragma once

#include <vector>

#include "bytecode/stream.h"

namespace pellucid::bytecode {

// Returns the constants that the code loads, but for the first of each kind, where the compiler
// would have made one of those that are equal. It never makes one of two NaNs, nor, up to 3.9, of
// the tuples that it folds last. A tuple of names that the next instruction takes apart, for a call
// or a dictionary, is seen by nothing else: it may be any.
std::vector<object::ConstId> twin_constants(const object::Module& module, const Stream& stream);

}  // namespace pellucid::bytecode
