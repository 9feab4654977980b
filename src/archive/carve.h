// SPDX-License-Identifier: Apache-2.0
// archive: code objects at any place of a file: after headers of other programs, in lists and dicts
// of marshal, in memory dumps, in programs with frozen modules.
#pragma once

#include <vector>

#include "archive/containers.h"

namespace pellucid::archive {

// One code object, with its header if it has one. A code object within another one belongs to that
// one.
struct Carved {
  size_t start = 0;
  size_t end = 0;
  Bytes bytes;
};

struct AllCarved {
  std::vector<Carved> codes;  // in their order
  size_t searched = 0;        // the bytes that were searched before the limits were met
};

AllCarved carved_in(Span bytes);

// Returns the same as the members of a file, named by their offsets.
std::vector<Member> carve(const Data& data);

}  // namespace pellucid::archive
