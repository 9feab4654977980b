// SPDX-License-Identifier: Apache-2.0
// Uses: how often each value of a graph is used, by which a step tells whether a value may become
// part of what uses it.
//
// A use is an operand of an item or of an exit, an argument of an edge, the result of a part of a
// region; in a block that can be reached, or in a region. The text says some of these in another
// way, and they do not count:
//  - in a chain, the left side of each comparison but the first: it is the right side of the one
//    before;
//  - of a comprehension, its own additions to what it makes, and what the edges of its loops bring;
//  - the Pop of what a `match` looks at.
//
// Graph::add_use() and the functions after it keep Value::uses; check() compares.
#pragma once

#include <cstdint>
#include <vector>

#include "structure/graph/graph.h"

namespace pellucid::structure {

// By the index of each value.
struct UseCounts {
  std::vector<uint32_t> count;
  std::vector<uint8_t> is_made;  // by an item, or as a parameter
};

UseCounts count_uses(const Graph& graph);

}  // namespace pellucid::structure
