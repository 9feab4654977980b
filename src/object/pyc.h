// SPDX-License-Identifier: Apache-2.0
// object::read_pyc: bytes of a .pyc file -> Module. Nothing is executed.
//
// The marshal reader is iterative or depth-capped (CPython's own cap is 2000), checks every length
// against what is left before it allocates, and reports the byte where reading stopped.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"
#include "object/code.h"

namespace pellucid::object {

// A whole .pyc file: magic number, flags, date and size or hash, then one marshalled code object.
Result<Module> read_pyc(std::span<const uint8_t> bytes);

// Only the marshalled code object, of a known version (what marshal.dumps(code) makes). `base` is
// where `bytes` starts in the file, for messages; `end` gets the number of bytes that were read.
Result<Module> read_marshal(std::span<const uint8_t> bytes, Version version, uint64_t base = 0,
                            size_t* end = nullptr);

// What a .pyc begins with, taken apart: the header of PEP 552. Of a shorter file, what there is.
struct Header {
  uint16_t magic = 0;
  bool has_mark = false;  // CR LF after the magic number
  uint32_t flags = 0;
  uint32_t date = 0;  // of the source, in seconds since 1970; of a hash-based file half the hash
  uint32_t size = 0;  // of the source; of a hash-based file the other half
};
inline constexpr size_t kHeaderSize = 16;
inline constexpr uint32_t kHashBased = 0b01;
inline constexpr uint32_t kKnownFlags = 0b11;  // hash-based, check the source

Header header_of(std::span<const uint8_t> bytes);

// The version that a .pyc magic number (its first two bytes, little endian) belongs to, for the
// final release of each version and the pre-releases that share its format.
std::optional<Version> version_of_magic(uint16_t magic);

// Returns true if it is the number of a final release.
bool is_final(uint16_t magic);

// Returns the number of a version's final release.
uint16_t magic_of(Version version);

// The same for every number that is known, also of versions and formats that nobody reads here.
std::optional<Version> origin_of_magic(uint16_t magic);

// "magic number 3394 of CPython 3.7", "unknown magic number 17".
std::string words_of_magic(uint16_t magic);

}  // namespace pellucid::object
