// SPDX-License-Identifier: Apache-2.0
// flow: values that are evaluated on demand (3.12+).
#pragma once

#include <vector>

#include "bytecode/stream.h"
#include "object/code.h"

namespace pellucid::flow {

// Returns the code objects of the functions that `stream` makes for the values of type aliases and
// for the bounds and defaults of type parameters: each holds one expression.
std::vector<object::CodeId> lazy_values(const object::Module& module,
                                        const bytecode::Stream& stream);

}  // namespace pellucid::flow
