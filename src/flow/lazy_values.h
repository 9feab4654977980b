// SPDX-License-Identifier: Apache-2.0
// flow: values that are written where they stand and evaluated when somebody asks (3.12+).
#pragma once

#include <vector>

#include "bytecode/stream.h"
#include "object/code.h"

namespace pellucid::flow {

// The code objects that `stream` makes functions of for the values of type aliases, and the bounds
// and defaults of type parameters: each holds one expression.
std::vector<object::CodeId> lazy_values(const object::Module& module,
                                        const bytecode::Stream& stream);

}  // namespace pellucid::flow
