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
// add_use() and the functions after it keep Value::uses; check() compares.
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

inline void add_use(Graph& graph, ValueId id) { ++graph[graph.resolve(id)].uses; }
void drop_use(Graph& graph, ValueId id);
// For callers that know all uses of the value.
inline void set_uses(Graph& graph, ValueId id, uint32_t uses) {
  graph[graph.resolve(id)].uses = uses;
}
// Drops the uses of an item that is removed, or is no item any more.
void release(Graph& graph, ValueId item);
// Drops the uses of a block that is removed, by its items, its exit and its edges.
void release(Graph& graph, BlockId id);
// Counts the uses of all values again, after code with uses was removed.
void recount_uses(Graph& graph);

// Makes each parameter an alias of its argument, which gets the parameter's uses.
void bind_params(Graph& graph, const std::vector<ValueId>& params,
                 const std::vector<ValueId>& args);

}  // namespace pellucid::structure
