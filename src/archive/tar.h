// SPDX-License-Identifier: Apache-2.0
// archive: the files in a tar archive: the old format, ustar, pax (POSIX.1-2001) and GNU tar.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "archive/source.h"
#include "pellucid/result.h"

namespace pellucid::archive {

struct TarMember {
  std::string name;
  uint64_t start = 0;
  uint64_t size = 0;
};

struct Tar {
  std::vector<TarMember> members;  // regular files, in their order
  std::optional<Error> damage;     // why there may be more
};

// Returns true if the bytes begin with the header of a member.
bool is_tar(Span bytes);

// Returns the files of an archive; more than `most` members are an error.
Result<Tar> tar_members(Span archive, size_t most);

}  // namespace pellucid::archive
