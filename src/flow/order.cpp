#include "flow/order.h"

#include <algorithm>

namespace pellucid::flow {

BlockLists::BlockLists(size_t owners, const std::vector<std::pair<uint32_t, BlockId>>& pairs)
    : begin_(owners + 1, 0), items_(pairs.size()) {
  for (const auto& [owner, member] : pairs) ++begin_[owner + 1];
  for (size_t i = 0; i < owners; ++i) begin_[i + 1] += begin_[i];
  std::vector<uint32_t> at(begin_.begin(), begin_.end() - 1);
  for (const auto& [owner, member] : pairs) items_[at[owner]++] = member;
}

Edges edges_of(size_t blocks, const std::vector<std::pair<BlockId, BlockId>>& pairs) {
  std::vector<std::pair<uint32_t, BlockId>> forward, backward;
  forward.reserve(pairs.size());
  backward.reserve(pairs.size());
  for (const auto& [from, to] : pairs) {
    forward.emplace_back(from.value, to);
    backward.emplace_back(to.value, from);
  }
  return {BlockLists(blocks, forward), BlockLists(blocks, backward)};
}

Edges edges_of(const Graph& graph, EdgeSet set) {
  std::vector<std::pair<BlockId, BlockId>> pairs;
  for (size_t i = 0; i < graph.blocks.size(); ++i) {
    const Block& block = graph.blocks[i];
    for (const BlockId next : block.exit.next)
      if (next.valid()) pairs.emplace_back(BlockId(i), next);
    if (set == EdgeSet::WithHandlers && block.handler.valid())
      pairs.emplace_back(BlockId(i), graph[block.handler].entry);
  }
  return edges_of(graph.blocks.size(), pairs);
}

namespace {

// Appends the blocks reachable from `root` to `out` in postorder; `seen` is shared between calls.
void postorder_from(BlockId root, const BlockLists& successors, std::vector<bool>& seen,
                    std::vector<BlockId>& out) {
  struct Visit {
    BlockId block;
    uint32_t next;
  };
  if (seen[root.index()]) return;
  seen[root.index()] = true;
  std::vector<Visit> stack{{root, 0}};
  while (!stack.empty()) {
    Visit& top = stack.back();
    const auto successors_of_top = successors[top.block];
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
}

// Semi-NCA (Georgiadis, "Linear-Time Algorithms for Dominators and Related Problems", 2005), on a
// depth-first tree below a virtual root.
class SemiNca {
 public:
  SemiNca(const BlockLists& successors, const BlockLists& predecessors)
      : successors_(successors),
        predecessors_(predecessors),
        number_(successors.size(), kUnreached) {
    add(BlockId(), 0);
  }

  // Numbers what `root` reaches and no root before has reached.
  void add_root(BlockId root) {
    if (number_[root.index()] != kUnreached) return;
    std::vector<std::pair<uint32_t, uint32_t>> stack;  // node, successors visited
    stack.emplace_back(add(root, 0), 0);
    roots_.push_back(stack.back().first);
    while (!stack.empty()) {
      auto& [node, visited] = stack.back();
      const auto next = successors_[nodes_[node].block];
      if (visited == next.size()) {
        stack.pop_back();
        continue;
      }
      const BlockId block = next[visited++];
      if (number_[block.index()] == kUnreached) stack.emplace_back(add(block, node), 0);
    }
  }

  Tree run() {
    std::vector<bool> is_root(nodes_.size());
    for (const uint32_t root : roots_) is_root[root] = true;
    const auto count = static_cast<uint32_t>(nodes_.size());
    for (uint32_t i = count; i-- > 1;) {
      uint32_t semi = is_root[i] ? 0 : nodes_[i].parent;
      for (const BlockId from : predecessors_[nodes_[i].block]) {
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
    if (block.valid()) number_[block.index()] = node;
    return node;
  }

  // The label of `node` among its ancestors from `linked` on.
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

  Tree tree() const {
    Tree tree;
    const size_t blocks = number_.size();
    tree.parent.assign(blocks, BlockId());
    tree.depth.assign(blocks, 0);
    tree.enter.assign(blocks, kUnreached);
    tree.leave.assign(blocks, 0);
    // Descending, so that the stack hands them out ascending.
    std::vector<std::pair<uint32_t, BlockId>> children;
    std::vector<BlockId> stack;
    for (size_t i = nodes_.size(); i-- > 1;) {
      const BlockId block = nodes_[i].block;
      const BlockId parent = nodes_[nodes_[i].idom].block;
      tree.parent[block.index()] = parent;
      if (parent.valid())
        children.emplace_back(parent.value, block);
      else
        stack.push_back(block);
    }
    const BlockLists below(blocks, children);
    while (!stack.empty()) {
      const BlockId block = stack.back();
      stack.pop_back();
      const BlockId parent = tree.parent[block.index()];
      tree.depth[block.index()] = parent.valid() ? tree.depth[parent.index()] + 1 : 0;
      tree.enter[block.index()] = static_cast<uint32_t>(tree.preorder.size());
      tree.leave[block.index()] = tree.enter[block.index()] + 1;
      tree.preorder.push_back(block);
      for (const BlockId child : below[block]) stack.push_back(child);
    }
    for (size_t i = tree.preorder.size(); i-- > 0;) {
      const BlockId block = tree.preorder[i];
      const BlockId parent = tree.parent[block.index()];
      if (!parent.valid()) continue;
      tree.leave[parent.index()] = std::max(tree.leave[parent.index()], tree.leave[block.index()]);
    }
    return tree;
  }

  const BlockLists& successors_;
  const BlockLists& predecessors_;
  std::vector<uint32_t> number_;  // of each block in nodes_
  std::vector<Node> nodes_;       // in preorder; the first one is the virtual root
  std::vector<uint32_t> roots_, path_;
};

}  // namespace

Order::Order(const Edges& edges, BlockId entry) : number(edges.size(), kUnreached) {
  if (edges.size() == 0) return;
  std::vector<bool> seen(edges.size());
  postorder_from(entry, edges.successors, seen, blocks);
  std::reverse(blocks.begin(), blocks.end());
  for (size_t i = 0; i < blocks.size(); ++i) number[blocks[i].index()] = static_cast<uint32_t>(i);
}

BlockId Tree::common(BlockId a, BlockId b) const {
  while (a.valid() && b.valid() && a != b) {
    if (depth[a.index()] >= depth[b.index()])
      a = parent[a.index()];
    else
      b = parent[b.index()];
  }
  return a == b ? a : BlockId();
}

Tree dominators(const Edges& edges, const Order& order) {
  SemiNca semi_nca(edges.successors, edges.predecessors);
  if (!order.blocks.empty()) semi_nca.add_root(order.blocks.front());
  return semi_nca.run();
}

Tree postdominators(const Edges& edges, const Order& order) {
  // Blocks that the forward order does not reach take no part.
  std::vector<std::pair<BlockId, BlockId>> pairs;
  for (const BlockId block : order.blocks)
    for (const BlockId next : edges.successors[block]) pairs.emplace_back(next, block);
  const Edges backward = edges_of(edges.size(), pairs);
  SemiNca semi_nca(backward.successors, backward.predecessors);
  for (const BlockId block : order.blocks)
    if (edges.successors[block].empty()) semi_nca.add_root(block);
  for (size_t i = order.blocks.size(); i-- > 0;) semi_nca.add_root(order.blocks[i]);
  return semi_nca.run();
}

namespace {

// Which loop holds what, found from inner headers to outer ones. A finished loop stands for all of
// its blocks (union-find on headers), so that every edge is looked at once.
class LoopFinder {
 public:
  LoopFinder(const Edges& edges, const Order& order)
      : edges_(edges), order_(order), inside_(edges.size()), outermost_(edges.size()) {
    for (size_t i = 0; i < edges.size(); ++i) outermost_[i] = BlockId(i);
  }

  // Header of the innermost loop around each block; of a header: of the loop around its own.
  const std::vector<BlockId>& inside() const { return inside_; }

  void collapse(BlockId header, const std::vector<BlockId>& latches) {
    std::vector<BlockId> work;
    const auto reach = [&](BlockId block) {
      const BlockId top = find(block);
      if (top == header) return;
      inside_[top.index()] = header;
      outermost_[top.index()] = header;
      work.push_back(top);
    };
    for (const BlockId latch : latches) reach(latch);
    while (!work.empty()) {
      const BlockId block = work.back();
      work.pop_back();
      for (const BlockId pred : edges_.predecessors[block])
        if (order_.reached(pred)) reach(pred);
    }
  }

 private:
  BlockId find(BlockId block) {
    while (outermost_[block.index()] != block) {
      BlockId& up = outermost_[block.index()];
      up = outermost_[up.index()];
      block = up;
    }
    return block;
  }

  const Edges& edges_;
  const Order& order_;
  std::vector<BlockId> inside_, outermost_;
};

}  // namespace

Loops natural_loops(const Edges& edges, const Order& order, const Tree& dominators) {
  Loops result;
  std::vector<std::pair<uint32_t, BlockId>> back_edges;
  for (const BlockId block : order.blocks) {
    BlockId last;
    for (const BlockId next : edges.successors[block]) {
      if (order.number[next.index()] > order.number[block.index()] || next == last) continue;
      last = next;
      if (dominators.contains(next, block))
        back_edges.emplace_back(next.value, block);
      else
        result.irreducible.emplace_back(block, next);
    }
  }
  const BlockLists latches(edges.size(), back_edges);
  LoopFinder finder(edges, order);
  for (size_t i = order.blocks.size(); i-- > 0;) {
    const BlockId header = order.blocks[i];
    if (latches[header].empty()) continue;
    finder.collapse(header, {latches[header].begin(), latches[header].end()});
  }

  // Blocks and loops as one forest below their headers; its preorder numbers loops and members.
  std::vector<std::pair<uint32_t, BlockId>> plain, nested;
  std::vector<BlockId> stack;
  for (const BlockId block : order.blocks) {
    const BlockId header = finder.inside()[block.index()];
    const bool heads = !latches[block].empty();
    if (header.valid()) (heads ? nested : plain).emplace_back(header.value, block);
    if (heads && !header.valid()) stack.push_back(block);
  }
  const BlockLists plain_in(edges.size(), plain), nested_in(edges.size(), nested);
  std::reverse(stack.begin(), stack.end());
  result.innermost.assign(edges.size(), LoopId());
  while (!stack.empty()) {
    const BlockId header = stack.back();
    stack.pop_back();
    const LoopId id(result.loops.size());
    Loop loop;
    loop.header = header;
    loop.latches.assign(latches[header].begin(), latches[header].end());
    const BlockId outer = finder.inside()[header.index()];
    if (outer.valid()) {
      loop.parent = result.innermost[outer.index()];
      loop.depth = result[loop.parent].depth + 1;
    }
    loop.first = static_cast<uint32_t>(result.members.size());
    result.members.push_back(header);
    result.innermost[header.index()] = id;
    for (const BlockId block : plain_in[header]) {
      result.members.push_back(block);
      result.innermost[block.index()] = id;
    }
    loop.count = static_cast<uint32_t>(result.members.size()) - loop.first;
    loop.end = id.value + 1;
    const auto inner = nested_in[header];
    stack.insert(stack.end(), inner.rbegin(), inner.rend());
    result.loops.push_back(std::move(loop));
  }
  for (size_t i = result.loops.size(); i-- > 0;) {
    const Loop& loop = result.loops[i];
    if (!loop.parent.valid()) continue;
    Loop& outer = result.loops[loop.parent.index()];
    outer.count += loop.count;
    outer.end = std::max(outer.end, loop.end);
  }
  return result;
}

}  // namespace pellucid::flow
