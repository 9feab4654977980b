// SPDX-License-Identifier: Apache-2.0
// cli: the archives of PyInstaller 4.0 and later: what stands after a program (CArchive), and the
// PYZ in it that holds the modules.
#pragma once

#include <optional>

#include "cli/containers.h"

namespace pellucid::cli {

// Where the archive of a program lies, by the cookie that is the last thing in it.
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
  Data packed;
  uint64_t size = 0;
  bool is_packed = false;

  Result<std::vector<uint8_t>> read() const;
};
Result<std::vector<Entry>> entries_of(const Data& data, const Cookie& cookie);

// The modules of a PYZ; what is encrypted says so when it is read.
Result<std::vector<Member>> members_of_pyz(const Data& data, bool is_encrypted);

// `read`, with a header of this version before code that has none.
std::function<Result<std::vector<uint8_t>>()> with_header(
    std::function<Result<std::vector<uint8_t>>()> read, std::vector<uint8_t> header);
std::vector<uint8_t> header_for(uint32_t major, uint32_t minor);

// The bytes that zlib packed, no more than `limit`.
Result<std::vector<uint8_t>> unpacked(std::span<const uint8_t> packed, uint64_t limit);

inline constexpr uint64_t kLargestMember = uint64_t{256} << 20;

}  // namespace pellucid::cli
