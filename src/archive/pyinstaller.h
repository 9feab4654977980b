// SPDX-License-Identifier: Apache-2.0
// archive: the archives of PyInstaller 4.0 and later: the one appended to a program (CArchive), and
// the PYZ in it with the modules.
#pragma once

#include <optional>

#include "archive/containers.h"

namespace pellucid::archive {

// The position of a program's archive, from the cookie at its end.
struct Cookie {
  uint64_t start = 0;  // of the archive in the file
  uint64_t table = 0;  // in the archive
  uint64_t table_size = 0;
  uint32_t major = 0;  // of Python
  uint32_t minor = 0;
};
std::optional<Cookie> find_cookie(std::span<const uint8_t> bytes);

// One entry of the archive's table.
struct Entry {
  std::string name;
  char kind = 0;
  uint64_t start = 0;  // in the file
  uint64_t packed_size = 0;
  uint64_t size = 0;
  bool is_packed = false;
};
Result<std::vector<Entry>> entries_of(const Data& data, const Cookie& cookie);
Result<Bytes> read_entry(const Data& data, const Entry& entry);

// Returns the modules of a PYZ; reading an encrypted one is an error.
Result<std::vector<Member>> members_of_pyz(const SourcePtr& source, Span bytes, bool is_encrypted);

// Returns a reader that puts `header` before code without one.
std::function<Result<std::vector<uint8_t>>()> with_header(
    std::function<Result<std::vector<uint8_t>>()> read, std::vector<uint8_t> header);
std::vector<uint8_t> header_for(uint32_t major, uint32_t minor);

// Unpacks zlib data of no more than `limit` bytes.
Result<std::vector<uint8_t>> unpacked(std::span<const uint8_t> packed, uint64_t limit);

}  // namespace pellucid::archive
