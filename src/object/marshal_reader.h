// SPDX-License-Identifier: Apache-2.0
// object: marshal bytes -> constants of a Module.
//
// One loop over an explicit stack of open containers: nothing recurses, so hostile nesting costs
// heap, and is capped where CPython caps it. Every length is checked against the bytes that are
// left before anything is allocated for it, so memory is linear in the input.
#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"
#include "object/code.h"

namespace pellucid::object {

// Reads one object from the front of `bytes` into `module` (whose version decides the layout of
// code objects). `base` is where `bytes` starts in the file, for messages. What follows the object
// is ignored, as marshal.load does; `end` gets the number of bytes that the object takes.
Result<ConstId> read_object(Module& module, std::span<const uint8_t> bytes, uint64_t base,
                            size_t* end = nullptr);

}  // namespace pellucid::object
