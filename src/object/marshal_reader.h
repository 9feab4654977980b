// SPDX-License-Identifier: Apache-2.0
// object: marshal bytes -> constants of a Module.
//
// One loop over an explicit stack of open containers: nothing recurses, so hostile nesting costs
// heap, and is capped where CPython caps it. Every length is checked against the remaining bytes
// before anything is allocated for it, so memory is linear in the input.
#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"
#include "object/code.h"

namespace pellucid::object {

// Reads one object from the front of `bytes` into `module` (whose version determines the layout of
// code objects). `base` is the offset of `bytes` in the file, for messages. Bytes after the object
// are ignored, as by marshal.load; `end` gets the size of the object.
Result<ConstId> read_object(Module& module, std::span<const uint8_t> bytes, uint64_t base,
                            size_t* end = nullptr);

}  // namespace pellucid::object
