// SPDX-License-Identifier: Apache-2.0
// bytecode: code that compilers up to 3.9 leave in and that never runs.
#pragma once

#include "object/code.h"
#include "object/left_jump.h"

namespace pellucid::bytecode {

// Finds the jumps and the `return None` that never run, and the jumps before such code. Later
// versions remove them: nothing is known of their code.
object::LeftCode left_code(const object::Code& code);

}  // namespace pellucid::bytecode
