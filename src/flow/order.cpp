// SPDX-License-Identifier: Apache-2.0
#include "flow/order.h"

#include <algorithm>
#include <array>

namespace pellucid::flow {
namespace {

// The blocks that control may go to from one block of a graph.
class SuccessorsOfBlock {
 public:
  SuccessorsOfBlock(const Graph& graph, BlockId block) {
    for (const BlockId next : graph[block].exit.next) {
      if (next.valid()) blocks_[count_++] = next;
    }
    const HandlerId handler = graph[block].handler;
    if (handler.valid()) blocks_[count_++] = graph[handler].entry;
  }
  size_t size() const { return count_; }
  BlockId operator[](size_t i) const { return blocks_[i]; }

 private:
  std::array<BlockId, 3> blocks_;
  size_t count_ = 0;
};

// Returns those of so many blocks that `entry` reaches, in postorder. `successors(block)` returns
// where control may go from it.
template <typename Successors>
std::vector<BlockId> postorder(BlockId entry, size_t count, const Successors& successors) {
  struct Visit {
    BlockId block;
    uint32_t next;
  };
  std::vector<BlockId> out;
  out.reserve(count);
  std::vector<bool> seen(count);
  seen[entry.index()] = true;
  std::vector<Visit> stack{{entry, 0}};
  while (!stack.empty()) {
    Visit& top = stack.back();
    const auto successors_of_top = successors(top.block);
    if (top.next == successors_of_top.size()) {
      out.push_back(top.block);
      stack.pop_back();
      continue;
    }
    // The last successor is visited first, so that reverse postorder lists the first one first.
    const BlockId next = successors_of_top[successors_of_top.size() - ++top.next];
    if (seen[next.index()]) continue;
    seen[next.index()] = true;
    stack.push_back({next, 0});
  }
  return out;
}

// Semi-NCA (Georgiadis, "Linear-Time Algorithms for Dominators and Related Problems", 2005), on a
// depth-first tree.
class SemiNca {
 public:
  SemiNca(const Edges& edges, BlockId entry) : edges_(edges), number_(edges.size(), kUnreached) {
    nodes_.reserve(edges.size());
    std::vector<std::pair<uint32_t, uint32_t>> stack;  // node, successors visited
    stack.reserve(edges.size());
    stack.emplace_back(add(entry, 0), 0);
    while (!stack.empty()) {
      auto& [node, visited] = stack.back();
      const auto next = edges.successors[nodes_[node].block];
      if (visited == next.size()) {
        stack.pop_back();
        continue;
      }
      const BlockId block = next[visited++];
      if (number_[block.index()] == kUnreached) stack.emplace_back(add(block, node), 0);
    }
  }

  Tree run() {
    const auto count = static_cast<uint32_t>(nodes_.size());
    for (uint32_t i = count; i-- > 1;) {
      uint32_t semi = nodes_[i].parent;
      for (const BlockId from : edges_.predecessors[nodes_[i].block]) {
        const uint32_t pred = number_[from.index()];
        if (pred != kUnreached) semi = std::min(semi, nodes_[evaluate(pred, i + 1)].semi);
      }
      nodes_[i].semi = semi;
    }
    for (uint32_t i = 1; i < count; ++i) {
      uint32_t& idom = nodes_[i].idom;
      while (idom > nodes_[i].semi) idom = nodes_[idom].idom;
    }
    return tree();
  }

 private:
  struct Node {
    BlockId block;
    uint32_t parent = 0;  // in the depth-first tree; later a compressed path
    uint32_t idom = 0;
    uint32_t semi = 0;
    uint32_t label = 0;  // the node with the least semi on the path that is compressed
  };

  uint32_t add(BlockId block, uint32_t parent) {
    const auto node = static_cast<uint32_t>(nodes_.size());
    nodes_.push_back({block, parent, parent, node, node});
    number_[block.index()] = node;
    return node;
  }

  // Returns the label of `node` among its ancestors from `linked` on.
  uint32_t evaluate(uint32_t node, uint32_t linked) {
    if (nodes_[node].parent < linked) return nodes_[node].label;
    path_.clear();
    for (; nodes_[node].parent >= linked; node = nodes_[node].parent) path_.push_back(node);
    uint32_t label = nodes_[node].label;
    uint32_t above = node;
    for (size_t i = path_.size(); i-- > 0; above = path_[i]) {
      Node& it = nodes_[path_[i]];
      it.parent = nodes_[above].parent;
      if (nodes_[label].semi < nodes_[it.label].semi)
        it.label = label;
      else
        label = it.label;
    }
    return nodes_[above].label;
  }

  // A node's immediate dominator has a lower number than the node, so the sizes of subtrees are
  // summed from the end, and their preorder numbers assigned from the start.
  Tree tree() const {
    const size_t count = nodes_.size();
    std::vector<uint32_t> size(count, 1), free(count, 0);
    for (size_t i = count; i-- > 1;) size[nodes_[i].idom] += size[i];
    Tree tree;
    tree.parent.assign(number_.size(), BlockId());
    tree.enter.assign(number_.size(), kUnreached);
    tree.leave.assign(number_.size(), 0);
    for (size_t i = 0; i < count; ++i) {
      const BlockId block = nodes_[i].block;
      uint32_t enter = 0;
      if (i > 0) {
        tree.parent[block.index()] = nodes_[nodes_[i].idom].block;
        enter = free[nodes_[i].idom];
        free[nodes_[i].idom] += size[i];
      }
      tree.enter[block.index()] = enter;
      tree.leave[block.index()] = enter + size[i];
      free[i] = enter + 1;  // where its first child goes
    }
    return tree;
  }

  const Edges& edges_;
  std::vector<uint32_t> number_;  // of each block in nodes_
  std::vector<Node> nodes_;       // in preorder of the depth-first tree
  std::vector<uint32_t> path_;
};

}  // namespace

Edges edges_of(const Graph& graph, EdgeSet set) {
  return Edges(graph.blocks.size(), [&](const auto& add) {
    for (size_t i = 0; i < graph.blocks.size(); ++i) {
      const Block& block = graph.blocks[i];
      for (const BlockId next : block.exit.next) {
        if (next.valid()) add(BlockId(i), next);
      }
      if (set == EdgeSet::WithHandlers && block.handler.valid()) {
        add(BlockId(i), graph[block.handler].entry);
      }
    }
  });
}

Order::Order(const Edges& edges, BlockId entry) : number(edges.size(), kUnreached) {
  if (edges.size() == 0) return;
  const auto successors = [&](BlockId block) { return edges.successors[block]; };
  blocks = postorder(entry, edges.size(), successors);
  reverse();
}

Order::Order(const Graph& graph) : number(graph.blocks.size(), kUnreached) {
  if (graph.blocks.empty()) return;
  const auto successors = [&](BlockId block) { return SuccessorsOfBlock(graph, block); };
  blocks = postorder(BlockId(0u), graph.blocks.size(), successors);
  reverse();
}

void Order::reverse() {
  std::reverse(blocks.begin(), blocks.end());
  for (size_t i = 0; i < blocks.size(); ++i) number[blocks[i].index()] = static_cast<uint32_t>(i);
}

Tree dominators(const Edges& edges, BlockId entry) { return SemiNca(edges, entry).run(); }

}  // namespace pellucid::flow
