// SPDX-License-Identifier: Apache-2.0
// Rotate: undoes loop inversion.
//
// CPython 3.10 to 3.13 (compiler_while) compile `while test: body` as `if test: do body while
// test`.
// Before: the test occurs twice, before the loop and at the end of its body, with the same items on
// the same lines.
// After: the end of the body leads to the first test, which is split into a block: the loop's
// header.
#pragma once

#include "structure/graph/loops.h"

namespace pellucid::structure {

// After reduce_conditions: a test is then one value of one block.
void undo_rotation(Graph& graph, KnownAnalysis& analysis);

}  // namespace pellucid::structure
