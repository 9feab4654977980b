// SPDX-License-Identifier: Apache-2.0
// archive: the members of a zip archive (APPNOTE.TXT), restricted to the features that wheels, eggs
// and zipapps use.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "archive/unpack.h"
#include "pellucid/result.h"

namespace pellucid::archive {

struct ZipMember {
  std::string name;
  uint32_t flags = 0;
  uint32_t method = 0;
  uint32_t crc = 0;
  uint64_t packed_size = 0;
  uint64_t size = 0;
  uint64_t header = 0;  // offset of the local header
};

// Returns true if the bytes end with a zip directory, whatever precedes the archive.
bool is_zip(std::span<const uint8_t> archive);

// Returns the members of an archive, in the order of its directory; more than `most` are an error.
Result<std::vector<ZipMember>> zip_members(std::span<const uint8_t> archive, size_t most);

// Returns the bytes of a member, verified by their checksum.
Result<std::vector<uint8_t>> unpack(std::span<const uint8_t> archive, const ZipMember& member,
                                    const Unpack& unpack_with = {});

// Returns the first bytes of a member, unverified, to determine its kind; fewer if it is shorter or
// damaged.
std::vector<uint8_t> front_of(std::span<const uint8_t> archive, const ZipMember& member,
                              size_t count, const Unpack& unpack_with = {});

// Returns the error of an archive with more than `most` members.
Error too_many(size_t most);

}  // namespace pellucid::archive
