// SPDX-License-Identifier: Apache-2.0
// Walks: from a place in the graph past what does nothing, to where something happens.
//
// The steps delete most of what does nothing (Graph::thread_empty_blocks), but not what says
// something by being there: markers, blocks that head a loop before a region, values that a pattern
// drops. Each walk differs in the items that it passes and in the edges that it follows: these are
// its arguments.
#pragma once

#include "structure/graph/graph.h"
#include "structure/graph/items.h"

namespace pellucid::structure {

// A place between two items.
struct Cursor {
  BlockId block;
  size_t index = 0;
  friend auto operator<=>(const Cursor&, const Cursor&) = default;
};

inline bool at_end(const Graph& graph, const Cursor& at) {
  return at.index == graph[at.block].items.size();
}

// The item after the place, which is not at the end of its block.
inline ValueId item_at(const Graph& graph, const Cursor& at) {
  return graph[at.block].items[at.index];
}

// Moves a cursor past the items for which `passes(item)` holds and, from the end of a block that
// only goes on, wherever `follow(edge)` moves it (to the start of edge.to, or not at all: then it
// returns false). Stops before the first other item or exit. Returns false if that is a circle.
template <typename Passes, typename Follow>
bool walk_past(const Graph& graph, Cursor& at, Passes passes, Follow follow) {
  for (size_t steps = 0; steps <= graph.size(); ++steps) {
    while (!at_end(graph, at) && passes(item_at(graph, at))) ++at.index;
    const ir::Block& block = graph[at.block];
    if (!at_end(graph, at) || block.exit != ExitKind::Goto || !block.next[0].to.valid())
      return true;
    if (!follow(block.next[0])) return true;
  }
  return false;
}

// What blocks hold that skip() passes.
enum class Skipped : uint8_t {
  Empty,  // nothing
  Marks,  // nothing but what leaves regions and handlers
};

inline bool is_skipped(const Graph& graph, ValueId item, Skipped what) {
  return what == Skipped::Marks && only_leaves(graph[item]);
}

// Returns the first block from this one on that does more than go on, or that `leaves(block, edge)`
// says is not to be left.
template <typename Leaves>
BlockId skip(const Graph& graph, BlockId block, Skipped what, Leaves leaves) {
  Cursor at{block};
  walk_past(
      graph, at, [&](ValueId item) { return is_skipped(graph, item, what); },
      [&](const ir::Edge& edge) {
        if (!leaves(at.block, edge)) return false;
        at = {edge.to};
        return true;
      });
  return at.block;
}

// The same wherever values are brought to no block.
inline BlockId skip(const Graph& graph, BlockId block, Skipped what) {
  return skip(graph, block, what, [](BlockId, const ir::Edge& edge) { return edge.args.empty(); });
}

}  // namespace pellucid::structure
