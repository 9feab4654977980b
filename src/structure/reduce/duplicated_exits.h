// SPDX-License-Identifier: Apache-2.0
// Tails: merges endings that the compiler has duplicated.
//
// Before: several blocks with equal items return, raise or end the body (tail duplication: since
// 3.10 CPython copies a short block that leaves the function to each jump to it, see copies.h).
// After: one block, and an edge to it in place of each copy. Endings from one line are copies of
// one statement; so are the implicit returns at the end of a body, whatever line they have.
#pragma once

#include "object/code.h"
#include "structure/graph/graph.h"

namespace pellucid::structure {

void merge_tails(Graph& graph, const object::Module& module);

}  // namespace pellucid::structure
