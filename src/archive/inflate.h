// SPDX-License-Identifier: Apache-2.0
// archive: decompression of zip archives (RFC 1951), so that the binary needs no library.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pellucid/result.h"

namespace pellucid::archive {

// Unpacks exactly `size` bytes. Any other size is an error, with an offset in `packed`.
Result<std::vector<uint8_t>> inflate(std::span<const uint8_t> packed, size_t size);

// Unpacks all data; more than `limit` bytes are an error. `used` gets the number of packed bytes.
Result<std::vector<uint8_t>> inflate_most(std::span<const uint8_t> packed, size_t limit,
                                          size_t* used = nullptr);

// Unpacks the first `count` bytes, or as many of them as possible.
std::vector<uint8_t> inflate_front(std::span<const uint8_t> packed, size_t count);

// Returns the checksum of zip archives.
uint32_t crc32(std::span<const uint8_t> bytes);

}  // namespace pellucid::archive
