// SPDX-License-Identifier: Apache-2.0
// Headers: every loop begins at a block of its own, where the loop stands.
#pragma once

#include "structure/graph/graph.h"

namespace pellucid::structure {

// Splits what comes before a `for` from it, and puts an empty block before a `try` or `with`
// that a loop goes back to from outside, and of a loop that begins where the one around it does.
void place_loop_headers(Graph& graph);

}  // namespace pellucid::structure
