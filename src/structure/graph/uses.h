// SPDX-License-Identifier: Apache-2.0
// Uses: how often each value of a graph is used. A value with one use may become part of its user.
//
// A use is an operand of an item or of an exit, an argument of an edge, or the result of a part of
// a region; in a reachable block, or in a region. These do not count, since the text expresses them
// in another way:
//  - in a chain, the left operand of each comparison after the first: it is the right operand of
//    the one before;
//  - in a comprehension, its own additions to its container, and the arguments of its loops' edges;
//  - the Pop of the subject of a `match`.
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
