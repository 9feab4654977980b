// SPDX-License-Identifier: Apache-2.0
// Rotate: loops get their test back at the top.
//
// CPython 3.10 to 3.13 compile `while test: body` as `if test: do body while test`: the test stands
// twice, once before the loop and once at its end. Where both are the same items of the same lines,
// the end of the body is sent to the first one, which gets a block of its own: the loop's header.
#pragma once

#include "structure/graph/graph.h"

namespace pellucid::structure {

// After reduce_conditions: a test is then one value of one block.
void undo_rotation(Graph& graph);

}  // namespace pellucid::structure
