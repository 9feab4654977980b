// SPDX-License-Identifier: Apache-2.0
// archive: gzip files (RFC 1952), which may have several parts, one after another.
#pragma once

#include <cstdint>

#include "archive/source.h"
#include "pellucid/result.h"

namespace pellucid::archive {

// Unpacks all parts, verified by their checksums; more than `limit` bytes are an error.
Result<Bytes> gunzip(Span packed, uint64_t limit);

// Returns the first bytes, `count` at most, unverified; fewer if the file is shorter or damaged.
Bytes gunzip_front(Span packed, uint64_t count);

}  // namespace pellucid::archive
