// SPDX-License-Identifier: Apache-2.0
// Orders and dominators of a control-flow graph: who precedes whom, who dominates whom.
//
// They work on plain edge lists, so any product that carries the same blocks can use them:
//
//   const Edges edges = edges_of(graph, EdgeSet::Normal);
//   const Order order(edges);                          // reverse postorder from block 0
//   const Tree tree = dominators(edges, BlockId(0u));  // tree.contains(a, b): a dominates b
//
// Nothing recurses, and everything takes near-linear time (dominators by Semi-NCA).
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "flow/graph.h"
#include "flow/lists.h"

namespace pellucid::flow {

enum class EdgeSet : uint8_t {
  Normal,        // exits only
  WithHandlers,  // and an edge from every block to the entry of the handler that protects it
};

using BlockLists = ListsByBlock<BlockId>;

// An edge that is added twice counts twice.
struct Edges {
  BlockLists successors;
  BlockLists predecessors;

  // `fill(add)` calls add(from, to) for each edge, as for ListsByBlock.
  template <typename Fill>
  Edges(size_t blocks, const Fill& fill)
      : successors(blocks, fill), predecessors(blocks, [&](const auto& add) {
          fill([&](BlockId from, BlockId to) { add(to, from); });
        }) {}

  size_t size() const { return successors.size(); }
};

// Successors: next[0], next[1], then the handler's entry. A branch whose two ways are one block
// counts twice.
Edges edges_of(const Graph& graph, EdgeSet set);

inline constexpr uint32_t kUnreached = 0xffffffffu;

// Reverse postorder of the blocks that the entry reaches over these edges.
struct Order {
  std::vector<BlockId> blocks;
  std::vector<uint32_t> number;  // of a block in `blocks`, kUnreached for the others

  Order() = default;  // of no blocks
  explicit Order(const Edges& edges, BlockId entry = BlockId(0u));
  // That of edges_of(graph, EdgeSet::WithHandlers), which are not listed.
  explicit Order(const Graph& graph);
  bool reached(BlockId block) const { return number[block.index()] != kUnreached; }

 private:
  // Turns `blocks` around and numbers them.
  void reverse();
};

// A dominator tree. Blocks outside of it (those that the entry does not reach) have no parent and
// are contained in no subtree.
struct Tree {
  std::vector<BlockId> parent;  // immediate dominator; invalid at the entry
  std::vector<uint32_t> enter;  // preorder numbers: a contains b iff
  std::vector<uint32_t> leave;  //   enter[a] <= enter[b] && enter[b] < leave[a]

  // Returns true if `a` dominates `b`; every block of the tree dominates itself.
  bool contains(BlockId a, BlockId b) const {
    return enter[a.index()] <= enter[b.index()] && enter[b.index()] < leave[a.index()];
  }
};

Tree dominators(const Edges& edges, BlockId entry);

}  // namespace pellucid::flow
