// SPDX-License-Identifier: Apache-2.0
// bytecode::decode: the bytes of one code object -> Stream.
#pragma once

#include <string_view>

#include "base/result.h"
#include "bytecode/stream.h"

namespace pellucid::bytecode {

// Decodes `code`; errors carry the byte offset in its bytecode. Bytes that are not instructions are
// ignored if unreachable, and become faults otherwise (Stream::faults).
Result<Stream> decode(const object::Module& module, object::CodeId code);

// Part of the error message if control flow runs past the last instruction.
inline constexpr std::string_view kRunsOut = "control falls off the end of the code";

// Makes the place of an error that a later step has found Unsayable. Returns false if the error has
// no single place, or if the place is Unsayable already.
bool give_up(const object::Module& module, Stream& stream, const Error& error);

// Returns the name of a raw opcode in CPython's opcode module ("LOAD_FAST"), or "" if it has none.
std::string_view raw_name(object::Version version, uint8_t opcode);

}  // namespace pellucid::bytecode
