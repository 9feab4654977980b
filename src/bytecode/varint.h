// SPDX-License-Identifier: Apache-2.0
// bytecode: the two variable-length integers of CPython's tables, six bits a byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace pellucid::bytecode {

// Reads an integer of a location table: least significant bits first, 0x40 if more follow. Returns
// false at the end.
inline bool read_varint(std::span<const uint8_t> table, size_t& at, uint32_t& out) {
  out = 0;
  for (unsigned shift = 0; at < table.size(); shift += 6) {
    const uint8_t byte = table[at++];
    if (shift < 32) out |= static_cast<uint32_t>(byte & 63) << shift;
    if ((byte & 64) == 0) return true;
  }
  return false;
}

// The same with the sign in the lowest bit.
inline bool read_signed_varint(std::span<const uint8_t> table, size_t& at, int64_t& out) {
  uint32_t value = 0;
  if (!read_varint(table, at, value)) return false;
  const int64_t magnitude = value >> 1;
  out = (value & 1) != 0 ? -magnitude : magnitude;
  return true;
}

// Reads an integer of an exception table: most significant bits first.
inline bool read_big_endian_varint(std::span<const uint8_t> table, size_t& at, uint32_t& out) {
  out = 0;
  while (at < table.size()) {
    const uint8_t byte = table[at++];
    out = out << 6 | (byte & 63u);
    if ((byte & 64) == 0) return true;
  }
  return false;
}

}  // namespace pellucid::bytecode
