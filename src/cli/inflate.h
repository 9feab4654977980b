// SPDX-License-Identifier: Apache-2.0
// cli: the compression of zip archives (RFC 1951), so that the binary needs no library.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pellucid/result.h"

namespace pellucid::cli {

// Unpacks exactly `size` bytes. Anything else in the data is an error; its offset is in `packed`.
Result<std::vector<uint8_t>> inflate(std::span<const uint8_t> packed, size_t size);

// Unpacks all there is; more than `limit` bytes are an error.
Result<std::vector<uint8_t>> inflate_most(std::span<const uint8_t> packed, size_t limit);

// The first `count` bytes, or what can be had of them.
std::vector<uint8_t> inflate_front(std::span<const uint8_t> packed, size_t count);

// The checksum of zip archives.
uint32_t crc32(std::span<const uint8_t> bytes);

}  // namespace pellucid::cli
