// SPDX-License-Identifier: Apache-2.0
// Analysis: the dominators and the natural loops of a Graph, over normal and handler edges.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "flow/order.h"
#include "structure/graph/graph.h"

namespace pellucid::structure {

struct Loop {
  BlockId header;
  std::vector<BlockId> blocks;  // the natural loop, header included
  std::vector<Way> back_edges;
  uint32_t outer = ~0u;  // the innermost loop around this one
  uint32_t depth = 0;    // how many loops enclose it
};

struct Analysis {
  std::vector<uint32_t> number;          // position in Graph::order()
  std::vector<uint32_t> loop_of_header;  // index into loops, or ~0
  std::vector<uint32_t> innermost;       // by block: index into loops, or ~0
  std::vector<Loop> loops;
  bool reducible = true;

  bool dominates(BlockId a, BlockId b) const {
    return a == b || (!tree_.enter.empty() && tree_.contains(a, b));
  }

  // The immediate dominator; invalid for the entry and for blocks that it does not reach.
  BlockId idom(BlockId block) const {
    return tree_.parent.empty() ? BlockId() : tree_.parent[block.index()];
  }

  // The blocks whose immediate dominator is `block`, in order.
  std::span<const BlockId> children(BlockId block) const {
    return children_.size() == 0 ? std::span<const BlockId>() : children_[block];
  }

  // Returns true if a block is in the natural loop.
  bool contains(const Loop& loop, BlockId block) const;

 private:
  friend Analysis analyse(const Graph& graph);

  // Empty for a graph of one block.
  flow::Tree tree_;
  flow::BlockLists children_;
};

// Throws NotStructured if more loops nest than a text can have.
Analysis analyse(const Graph& graph);

// The analysis of a graph between steps, most of which change nothing.
class KnownAnalysis {
 public:
  // Valid until the next call.
  const Analysis& of(const Graph& graph) {
    if (!known_ || version_ != graph.version()) known_ = analyse(graph);
    version_ = graph.version();
    return *known_;
  }

 private:
  std::optional<Analysis> known_;
  uint32_t version_ = 0;
};

// Returns false if no edge leads back in the order of the graph: then analyse() finds no loop. Most
// functions have none, and to know that is far cheaper than their dominators.
bool may_loop(const Graph& graph);

}  // namespace pellucid::structure
