// object::read_pyc: bytes of a .pyc file -> Module. Nothing is executed.
//
// The marshal reader is iterative or depth-capped (CPython's own cap is 2000), checks every length
// against what is left before it allocates, and reports the byte where reading stopped.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/result.h"
#include "object/code.h"

namespace pellucid::object {

// A whole .pyc file: magic number, flags, date and size or hash, then one marshalled code object.
Result<Module> read_pyc(std::span<const uint8_t> bytes);

// Only the marshalled code object, of a known version (what marshal.dumps(code) makes).
Result<Module> read_marshal(std::span<const uint8_t> bytes, Version version);

// The version that a .pyc magic number (its first two bytes, little endian) belongs to, for the
// final release of each version and the pre-releases that share its format.
std::optional<Version> version_of_magic(uint16_t magic);

}  // namespace pellucid::object
