// SPDX-License-Identifier: Apache-2.0
// Headers: gives every loop a header block, outside of the regions that are inside the loop.
#pragma once

#include "structure/graph/loops.h"

namespace pellucid::structure {

// Before: a loop may start with the items before its `for`, inside a `try` or `with` to which a
// jump leads back from outside, or at the header of the loop around it.
// After: the `for` is split from those items, and an empty block before the region, or before the
// inner loop, is the header.
void place_loop_headers(Graph& graph, KnownAnalysis& analysis);

}  // namespace pellucid::structure
