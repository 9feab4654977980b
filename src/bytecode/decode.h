// SPDX-License-Identifier: Apache-2.0
// bytecode::decode: the bytes of one code object -> Stream.
#pragma once

#include <string_view>

#include "base/result.h"
#include "bytecode/stream.h"

namespace pellucid::bytecode {

// Decodes `code`; errors carry the byte offset in its bytecode. Bytes that are no instructions cost
// nothing where nothing reaches them, and else their place: see Stream::faults.
Result<Stream> decode(const object::Module& module, object::CodeId code);

// What the message of an error says where the code ends and control goes on.
inline constexpr std::string_view kRunsOut = "control falls off the end of the code";

// Makes the place of an error that a later step has met Unsayable. Returns false if the error is of
// no one place, or the place is so already.
bool give_up(const object::Module& module, Stream& stream, const Error& error);

// The name that CPython's opcode module gives to a raw opcode ("LOAD_FAST"), or "" if it has none.
std::string_view raw_name(object::Version version, uint8_t opcode);

}  // namespace pellucid::bytecode
