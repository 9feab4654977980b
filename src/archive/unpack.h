// SPDX-License-Identifier: Apache-2.0
// archive: compression that the core does not know. A caller that has a library for it lends it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "archive/source.h"
#include "pellucid/result.h"

namespace pellucid::archive {

// A member of an archive is never unpacked to more bytes than this.
inline constexpr uint64_t kLargestMember = uint64_t{256} << 20;

enum class Packing : uint8_t { Bzip2, Lz4, Lzma, Xz, Zstd };

// Returns "bz2", "lz4", "lzma", "xz", "zstd".
std::string name_of(Packing packing);

// Returns the first bytes of what is packed, `most` at most.
using Unpack = std::function<Result<Bytes>(Packing, Span, uint64_t most)>;

// Calls `unpack`; without one, the error says what to do.
Result<Bytes> unpack_front(const Unpack& unpack, Packing packing, Span packed, uint64_t most);

// Unpacks everything; more than `limit` bytes are an error.
Result<Bytes> unpack_all(const Unpack& unpack, Packing packing, Span packed, uint64_t limit);

}  // namespace pellucid::archive
