// bytecode::decode: the bytes of one code object -> Stream.
#pragma once

#include <string_view>

#include "base/result.h"
#include "bytecode/stream.h"

namespace pellucid::bytecode {

// Decodes `code`; errors carry the byte offset in its bytecode.
Result<Stream> decode(const object::Module& module, object::CodeId code);

// The name that CPython's opcode module gives to a raw opcode ("LOAD_FAST"), or "" if it has none.
std::string_view raw_name(object::Version version, uint8_t opcode);

}  // namespace pellucid::bytecode
