// SPDX-License-Identifier: Apache-2.0
#include "cli/zip.h"

#include <algorithm>

#include "cli/inflate.h"

namespace pellucid::cli {

namespace {

constexpr uint64_t kLargestMember = uint64_t{256} << 20;
constexpr size_t kEndSize = 22;
constexpr size_t kEntrySize = 46;
constexpr size_t kLocalSize = 30;
constexpr uint32_t kEndMark = 0x06054b50;
constexpr uint32_t kEntryMark = 0x02014b50;
constexpr uint32_t kLocalMark = 0x04034b50;

uint32_t number(std::span<const uint8_t> bytes, size_t at, size_t count) {
  uint32_t value = 0;
  for (size_t i = 0; i < count; ++i) value |= uint32_t{bytes[at + i]} << (8 * i);
  return value;
}

Error error(size_t at, const std::string& why) {
  return Error{ErrorCode::Malformed, at, "zip: " + why};
}

// Returns the offset of the end record: a comment may follow it, and anything precede the archive
// (a zipapp's `#!`).
size_t end_record(std::span<const uint8_t> archive) {
  if (archive.size() < kEndSize) return archive.size();
  const size_t last = archive.size() - kEndSize;
  const size_t first = last - std::min<size_t>(last, 0xffff);
  for (size_t at = last + 1; at-- > first;) {
    if (number(archive, at, 4) == kEndMark) return at;
  }
  return archive.size();
}

}  // namespace

Result<std::vector<ZipMember>> zip_members(std::span<const uint8_t> archive) {
  const size_t end = end_record(archive);
  if (end == archive.size()) return error(end, "no directory found");
  const uint32_t count = number(archive, end + 10, 2);
  const uint64_t size = number(archive, end + 12, 4);
  const uint64_t start = number(archive, end + 16, 4);
  if (count == 0xffff || start == 0xffffffff) return error(end, "the 64-bit form is not supported");
  if (size > end) return error(end, "a directory larger than the archive");
  // Data before the archive shifts all its offsets.
  const uint64_t directory = end - size;
  if (start > directory) return error(end, "a directory after its end");
  const uint64_t moved = directory - start;
  std::vector<ZipMember> members;
  size_t at = static_cast<size_t>(directory);
  for (uint32_t i = 0; i < count; ++i) {
    if (end - at < kEntrySize || number(archive, at, 4) != kEntryMark) {
      return error(at, "a damaged directory");
    }
    ZipMember member;
    member.flags = number(archive, at + 8, 2);
    member.method = number(archive, at + 10, 2);
    member.crc = number(archive, at + 16, 4);
    member.packed_size = number(archive, at + 20, 4);
    member.size = number(archive, at + 24, 4);
    const size_t name = number(archive, at + 28, 2);
    const size_t rest = name + number(archive, at + 30, 2) + number(archive, at + 32, 2);
    member.header = number(archive, at + 42, 4) + moved;
    if (end - at - kEntrySize < rest) return error(at, "a damaged directory");
    const auto text = archive.subspan(at + kEntrySize, name);
    member.name.assign(text.begin(), text.end());
    members.push_back(std::move(member));
    at += kEntrySize + rest;
  }
  return members;
}

// Returns the packed bytes of a member.
static Result<std::span<const uint8_t>> packed_bytes(std::span<const uint8_t> archive,
                                                     const ZipMember& member) {
  const size_t at = static_cast<size_t>(member.header);
  if ((member.flags & 1) != 0) return error(at, "an encrypted member");
  if (archive.size() < kLocalSize || at > archive.size() - kLocalSize ||
      number(archive, at, 4) != kLocalMark) {
    return error(at, "a member that is not there");
  }
  const size_t start = at + kLocalSize + number(archive, at + 26, 2) + number(archive, at + 28, 2);
  if (start > archive.size() || archive.size() - start < member.packed_size) {
    return error(at, "a member beyond the end");
  }
  return archive.subspan(start, static_cast<size_t>(member.packed_size));
}

bool is_zip(std::span<const uint8_t> archive) {
  const size_t end = end_record(archive);
  if (end == archive.size()) return false;
  const uint64_t size = number(archive, end + 12, 4);
  return size <= end &&
         (size == 0 || number(archive, static_cast<size_t>(end - size), 4) == kEntryMark);
}

Result<std::vector<uint8_t>> unpack(std::span<const uint8_t> archive, const ZipMember& member) {
  const size_t at = static_cast<size_t>(member.header);
  if (member.size > kLargestMember) return error(at, "a member larger than 256 MiB");
  PELLUCID_TRY(const std::span<const uint8_t> packed, packed_bytes(archive, member));
  const auto start = static_cast<size_t>(packed.data() - archive.data());
  std::vector<uint8_t> bytes;
  if (member.method == 0) {
    bytes.assign(packed.begin(), packed.end());
  } else if (member.method == 8) {
    Result<std::vector<uint8_t>> unpacked = inflate(packed, static_cast<size_t>(member.size));
    if (!unpacked.ok()) return error(start + unpacked.error().offset, unpacked.error().message);
    bytes = std::move(*unpacked);
  } else {
    return error(at, "an unknown compression");
  }
  if (bytes.size() != member.size || crc32(bytes) != member.crc) {
    return error(at, "a member with a wrong checksum");
  }
  return bytes;
}

std::vector<uint8_t> front_of(std::span<const uint8_t> archive, const ZipMember& member,
                              size_t count) {
  const Result<std::span<const uint8_t>> packed = packed_bytes(archive, member);
  if (!packed.ok()) return {};
  if (member.method == 8) return inflate_front(*packed, count);
  const auto front = packed->first(std::min(count, packed->size()));
  return member.method == 0 ? std::vector<uint8_t>(front.begin(), front.end())
                            : std::vector<uint8_t>();
}

}  // namespace pellucid::cli
