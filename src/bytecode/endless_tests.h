// SPDX-License-Identifier: Apache-2.0
// bytecode: the constants of tests that the compiler has folded.
#pragma once

#include "object/code.h"

namespace pellucid::bytecode {

// Returns true if an endless loop was more likely written `while 1` than `while True`: the code has
// the constant 1 and no True. 3.10 and 3.11 load the constant and remove the load later
// (compiler_while, optimize_basic_block), and remove unused constants only from the end
// (trim_unused_consts). Before that there is no constant of a test, later no unused one.
bool has_endless_ones(const object::Module& module, const object::Code& code);

}  // namespace pellucid::bytecode
