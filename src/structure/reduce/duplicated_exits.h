// SPDX-License-Identifier: Apache-2.0
// Tails: endings that the compiler has copied become one block again.
//
// Since 3.10 CPython copies a short block that leaves the function to each jump that leads to it.
// Two endings with equal items that come from one line of the source are copies of one statement;
// so are the implicit returns at the end of a body, whichever line they are booked on.
#pragma once

#include "object/code.h"
#include "structure/graph/graph.h"

namespace pellucid::structure {

void merge_tails(Graph& graph, const object::Module& module);

}  // namespace pellucid::structure
