// SPDX-License-Identifier: Apache-2.0
#include "archive/gzip.h"

#include <algorithm>
#include <optional>

#include "archive/inflate.h"

namespace pellucid::archive {

namespace {

constexpr size_t kGzipHeaderSize = 10;
constexpr size_t kTrailerSize = 8;

bool is_part(Span packed) {
  return packed.size() > kGzipHeaderSize && packed[0] == 0x1f && packed[1] == 0x8b &&
         packed[2] == 8;
}

uint32_t little_endian(Span bytes, size_t at) {
  uint32_t number = 0;
  for (size_t i = 4; i-- > 0;) number = number << 8 | bytes[at + i];
  return number;
}

// Returns where the data of a part begins, after the fields that its flags announce.
std::optional<size_t> start_of_data(Span packed) {
  if (!is_part(packed)) return std::nullopt;
  const uint8_t flags = packed[3];
  size_t at = kGzipHeaderSize;
  if ((flags & 4) != 0) {
    if (packed.size() - at < 2) return std::nullopt;
    at += 2 + (packed[at] | size_t{packed[at + 1]} << 8);
  }
  for (const uint8_t text : {8, 16}) {
    if ((flags & text) == 0) continue;
    while (at < packed.size() && packed[at] != 0) ++at;
    ++at;
  }
  if ((flags & 2) != 0) at += 2;
  return at <= packed.size() ? std::optional(at) : std::nullopt;
}

}  // namespace

Result<Bytes> gunzip(Span packed, uint64_t limit) {
  Bytes all;
  size_t at = 0;
  do {
    const Span part = packed.subspan(at);
    const std::optional<size_t> start = start_of_data(part);
    if (!start) return Error{ErrorCode::Malformed, at, "gzip: a damaged header"};
    size_t used = 0;
    Result<Bytes> bytes =
        inflate_most(part.subspan(*start), static_cast<size_t>(limit - all.size()), &used);
    at += *start;
    if (!bytes.ok()) {
      return Error{bytes.error().code, at + bytes.error().offset, "gzip: " + bytes.error().message};
    }
    at += used;
    if (packed.size() - at < kTrailerSize) {
      return Error{ErrorCode::Truncated, packed.size(), "gzip: unexpected end"};
    }
    if (little_endian(packed, at) != crc32(*bytes)) {
      return Error{ErrorCode::Malformed, at, "gzip: a wrong checksum"};
    }
    at += kTrailerSize;
    if (all.empty()) {
      all = std::move(*bytes);
    } else {
      all.insert(all.end(), bytes->begin(), bytes->end());
    }
  } while (is_part(packed.subspan(at)));
  return all;
}

Bytes gunzip_front(Span packed, uint64_t count) {
  const std::optional<size_t> start = start_of_data(packed);
  return start ? inflate_front(packed.subspan(*start), static_cast<size_t>(count)) : Bytes();
}

}  // namespace pellucid::archive
