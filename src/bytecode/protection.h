// SPDX-License-Identifier: Apache-2.0
// bytecode: which handler protects each canonical instruction (3.11+).
//
// The table of a code object protects raw instructions. A canonical one has the handler of the raw
// ones that it stands for and that can raise; if they have several, no canonical instruction means
// the same, and Stream::parted says where. So it is with a raw instruction that can raise and that
// nothing stands for, if it has a handler: RETURN_GENERATOR, where throw() raises before the start.
#pragma once

#include <vector>

#include "base/result.h"
#include "bytecode/read_raw.h"
#include "bytecode/stream.h"
#include "bytecode/translate.h"

namespace pellucid::bytecode {

// Sets what a stream, whose raw instructions are known, says of exceptions. Handlers outside of the
// code are an error, unless it is read along its paths. Returns true.
Result<bool> protect(const object::Code& code, const std::vector<RawException>& entries,
                     const Translation& translation, bool is_along_paths, Stream& stream);

}  // namespace pellucid::bytecode
