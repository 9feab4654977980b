// SPDX-License-Identifier: Apache-2.0
#include "archive/zip.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>

#include "archive/inflate.h"

namespace pellucid::archive {

namespace {

constexpr size_t kEndSize = 22;
constexpr size_t kDirectoryEntrySize = 46;
constexpr size_t kLocalSize = 30;
constexpr size_t kLargeEndSize = 56;
constexpr size_t kLocatorSize = 20;
constexpr std::string_view kEndMark = "PK\5\6";
constexpr uint32_t kLargeEndMark = 0x06064b50;
constexpr uint32_t kLocatorMark = 0x07064b50;
constexpr uint32_t kEntryMark = 0x02014b50;
constexpr uint32_t kLocalMark = 0x04034b50;

// What a field of 32 bits has where its number needs 64.
constexpr uint32_t kElsewhere = 0xffffffff;
constexpr uint32_t kLargeField = 1;

uint64_t long_number(std::span<const uint8_t> bytes, size_t at, size_t count) {
  uint64_t value = 0;
  for (size_t i = 0; i < count; ++i) value |= uint64_t{bytes[at + i]} << (8 * i);
  return value;
}

uint32_t number(std::span<const uint8_t> bytes, size_t at, size_t count) {
  return static_cast<uint32_t>(long_number(bytes, at, count));
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
  // Forwards, since that is a fast search for the first byte: any `.pyc` is searched.
  const std::string_view text(reinterpret_cast<const char*>(archive.data()), archive.size());
  size_t found = archive.size();
  for (size_t at = text.find(kEndMark, first); at <= last; at = text.find(kEndMark, at + 1)) {
    found = at;
  }
  return found;
}

// Where the entries of an archive are.
struct Directory {
  uint64_t count = 0;
  uint64_t size = 0;
  uint64_t start = 0;  // as the archive says, which may begin later than the bytes
  uint64_t end = 0;
};

// Reads the end record at `end`, or the one of 64 bits right before it (zip64).
Directory directory_at(std::span<const uint8_t> archive, size_t end) {
  if (end >= kLargeEndSize + kLocatorSize &&
      number(archive, end - kLocatorSize, 4) == kLocatorMark) {
    const size_t large = end - kLocatorSize - kLargeEndSize;
    if (number(archive, large, 4) == kLargeEndMark) {
      return {long_number(archive, large + 32, 8), long_number(archive, large + 40, 8),
              long_number(archive, large + 48, 8), large};
    }
  }
  return {number(archive, end + 10, 2), number(archive, end + 12, 4), number(archive, end + 16, 4),
          end};
}

// Takes the numbers of 64 bits of an entry from its extra fields. Returns false if they are not
// there.
bool read_large_numbers(std::span<const uint8_t> extra, ZipMember& member) {
  uint64_t* const wanted[] = {&member.size, &member.packed_size, &member.header};
  const auto is_missing = [](const uint64_t* field) { return *field == kElsewhere; };
  if (std::none_of(std::begin(wanted), std::end(wanted), is_missing)) return true;
  for (size_t at = 0; extra.size() - at >= 4;) {
    const size_t size = number(extra, at + 2, 2);
    if (extra.size() - at - 4 < size) return false;
    if (number(extra, at, 2) == kLargeField) {
      std::span<const uint8_t> numbers = extra.subspan(at + 4, size);
      for (uint64_t* const field : wanted) {
        if (*field != kElsewhere) continue;
        if (numbers.size() < 8) return false;
        *field = long_number(numbers, 0, 8);
        numbers = numbers.subspan(8);
      }
      return true;
    }
    at += 4 + size;
  }
  return false;
}

}  // namespace

Result<std::vector<ZipMember>> zip_members(std::span<const uint8_t> archive, size_t most) {
  const size_t end = end_record(archive);
  if (end == archive.size()) return error(end, "no directory found");
  const Directory found = directory_at(archive, end);
  if (found.size > found.end) return error(end, "a directory larger than the archive");
  if (found.count > most) return too_many(most);
  // Data before the archive shifts all its offsets.
  const uint64_t directory = found.end - found.size;
  if (found.start > directory) return error(end, "a directory after its end");
  const uint64_t moved = directory - found.start;
  std::vector<ZipMember> members;
  size_t at = static_cast<size_t>(directory);
  for (uint64_t i = 0; i < found.count; ++i) {
    if (end - at < kDirectoryEntrySize || number(archive, at, 4) != kEntryMark) {
      return error(at, "a damaged directory");
    }
    ZipMember member;
    member.flags = number(archive, at + 8, 2);
    member.method = number(archive, at + 10, 2);
    member.crc = number(archive, at + 16, 4);
    member.packed_size = number(archive, at + 20, 4);
    member.size = number(archive, at + 24, 4);
    const size_t name = number(archive, at + 28, 2);
    const size_t extra = number(archive, at + 30, 2);
    const size_t rest = name + extra + number(archive, at + 32, 2);
    member.header = number(archive, at + 42, 4);
    if (end - at - kDirectoryEntrySize < rest) return error(at, "a damaged directory");
    const auto text = archive.subspan(at + kDirectoryEntrySize, name);
    member.name.assign(text.begin(), text.end());
    if (!read_large_numbers(archive.subspan(at + kDirectoryEntrySize + name, extra), member)) {
      return error(at, "a damaged entry");
    }
    member.header = std::min<uint64_t>(member.header, archive.size() - moved) + moved;
    members.push_back(std::move(member));
    at += kDirectoryEntrySize + rest;
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
  const Directory found = directory_at(archive, end);
  return found.size <= found.end &&
         (found.size == 0 ||
          number(archive, static_cast<size_t>(found.end - found.size), 4) == kEntryMark);
}

// Returns how a member is packed, if it is none of the two ways that the core knows.
static std::optional<Packing> packing_of_member(const ZipMember& member) {
  switch (member.method) {
    case 12:
      return Packing::Bzip2;
    case 14:
      return Packing::Lzma;
    case 93:
      return Packing::Zstd;
    case 95:
      return Packing::Xz;
    default:
      return std::nullopt;
  }
}

static Result<Bytes> unpacked_member(const ZipMember& member, Span packed, size_t start,
                                     const Unpack& unpack_with) {
  if (member.method == 0) return Bytes(packed.begin(), packed.end());
  if (member.method == 8) {
    Result<Bytes> bytes = inflate(packed, static_cast<size_t>(member.size));
    if (bytes.ok()) return bytes;
    return error(start + bytes.error().offset, bytes.error().message);
  }
  const std::optional<Packing> packing = packing_of_member(member);
  if (packing) return unpack_all(unpack_with, *packing, packed, kLargestMember);
  return Error{ErrorCode::Unsupported, member.header, "zip: an unknown compression"};
}

Result<Bytes> unpack(Span archive, const ZipMember& member, const Unpack& unpack_with) {
  const size_t at = static_cast<size_t>(member.header);
  if (member.size > kLargestMember) {
    return Error{ErrorCode::Limit, at, "larger than 256 MiB"};
  }
  PELLUCID_TRY(const Span packed, packed_bytes(archive, member));
  const auto start = static_cast<size_t>(packed.data() - archive.data());
  PELLUCID_TRY(Bytes bytes, unpacked_member(member, packed, start, unpack_with));
  if (bytes.size() != member.size || crc32(bytes) != member.crc) {
    return error(at, "a member with a wrong checksum");
  }
  return bytes;
}

Bytes front_of(Span archive, const ZipMember& member, size_t count, const Unpack& unpack_with) {
  const Result<Span> packed = packed_bytes(archive, member);
  if (!packed.ok()) return {};
  if (member.method == 8) return inflate_front(*packed, count);
  if (member.method == 0) {
    const auto front = packed->first(std::min(count, packed->size()));
    return Bytes(front.begin(), front.end());
  }
  const std::optional<Packing> packing = packing_of_member(member);
  if (!packing || !unpack_with) return {};
  const Result<Bytes> front = unpack_with(*packing, *packed, count);
  return front.ok() ? *front : Bytes();
}

Error too_many(size_t most) {
  std::string number = std::to_string(most);
  if (number.size() > 3) number.insert(number.size() - 3, ",");
  return Error{ErrorCode::Limit, 0, "more than " + number + " members"};
}

}  // namespace pellucid::archive
