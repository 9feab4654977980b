// SPDX-License-Identifier: Apache-2.0
// archive: code objects at any place of a file: after headers of other programs, in lists and dicts
// of marshal, in memory dumps, in programs with frozen modules.
#pragma once

#include <vector>

#include "archive/containers.h"

namespace pellucid::archive {

// Returns each code object that can be read, with its place and size in its name, in their order.
// A code object within another one belongs to that one.
std::vector<Member> carve(const Data& data);

}  // namespace pellucid::archive
