// SPDX-License-Identifier: Apache-2.0
// bytecode: variables with the same name, which a text cannot distinguish.
#pragma once

#include <vector>

#include "bytecode/stream.h"

namespace pellucid::bytecode {

// Returns true if two variables of a code object have the same name, and its instructions do not
// determine which of them they use.
bool has_namesakes(const object::Code& code, const std::vector<RawInstr>& raw);

}  // namespace pellucid::bytecode
