// SPDX-License-Identifier: Apache-2.0
// object::read_pyc: bytes of a .pyc file -> Module. Nothing is executed.
//
// The marshal reader is iterative or depth-capped (CPython's own cap is 2000), checks every length
// against the remaining bytes before it allocates, and reports the byte where reading stopped.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"
#include "object/code.h"

namespace pellucid::object {

// Reads a whole .pyc file: magic number, flags, date and size or hash, then one marshalled code
// object.
Result<Module> read_pyc(std::span<const uint8_t> bytes);

// Reads only the marshalled code object, of a known version (the output of marshal.dumps(code)).
// `base` is the offset of `bytes` in the file, for messages; `end` gets the number of bytes read.
Result<Module> read_marshal(std::span<const uint8_t> bytes, Version version, uint64_t base = 0,
                            size_t* end = nullptr);

// The fields of a .pyc header (PEP 552); of a shorter file, those that exist.
struct Header {
  uint16_t magic = 0;
  bool has_mark = false;  // CR LF after the magic number
  uint32_t flags = 0;
  uint32_t date = 0;  // of the source, in seconds since 1970; in a hash-based file half the hash
  uint32_t size = 0;  // of the source; in a hash-based file the other half
};
inline constexpr size_t kHeaderSize = 16;
inline constexpr uint32_t kHashBased = 0b01;
inline constexpr uint32_t kKnownFlags = 0b11;  // hash-based, check the source

Header header_of(std::span<const uint8_t> bytes);

// Returns the version of a .pyc magic number (its first two bytes, little endian), for the final
// release of each version and the pre-releases that share its format.
std::optional<Version> version_of_magic(uint16_t magic);

// Returns true if `magic` is the number of a final release.
bool is_final(uint16_t magic);

// Returns the number of a version's final release.
uint16_t magic_of(Version version);

// Returns the version of any known number, including unsupported versions and formats.
std::optional<Version> origin_of_magic(uint16_t magic);

// Returns true for a number of PyPy 3, whose bytecode is not CPython's.
bool is_of_pypy(uint16_t magic);

// Returns "magic number 3394 of CPython 3.7", "unknown magic number 17".
std::string words_of_magic(uint16_t magic);

}  // namespace pellucid::object
