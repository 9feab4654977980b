// SPDX-License-Identifier: Apache-2.0
// Walks: moves a place in the graph past code without effect.
//
// The steps delete most of such code (thread_empty_blocks), except items and blocks that
// carry information: markers, header blocks before a region, values that a pattern drops. Each walk
// has its own items that it passes and edges that it follows: these are its arguments.
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

// Moves a cursor past the items for which `passes(item)` is true and, at the end of a block with a
// Goto, wherever `follow(edge)` moves it (to the start of edge.to, or not at all: then it returns
// false). Stops before the first other item or exit. Returns false if it goes round in a circle.
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

// The blocks that skip() passes: those with a Goto and these items.
enum class Skipped : uint8_t {
  Empty,  // none
  Marks,  // only items that leave regions and handlers
};

inline bool is_skipped(const Graph& graph, ValueId item, Skipped what) {
  return what == Skipped::Marks && only_leaves(graph[item]);
}

// Returns the first block from this one on that has other items or exits, or that `leaves(block,
// edge)` keeps.
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

// Does the same along edges without arguments.
inline BlockId skip(const Graph& graph, BlockId block, Skipped what) {
  return skip(graph, block, what, [](BlockId, const ir::Edge& edge) { return edge.args.empty(); });
}

}  // namespace pellucid::structure
