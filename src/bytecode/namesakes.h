// SPDX-License-Identifier: Apache-2.0
// bytecode: variables of one name, which a text cannot tell apart.
#pragma once

#include <vector>

#include "bytecode/stream.h"

namespace pellucid::bytecode {

// Returns true if two variables of a code object have one name, and its instructions do not say
// which of them they mean.
bool has_namesakes(const object::Code& code, const std::vector<RawInstr>& raw);

}  // namespace pellucid::bytecode
