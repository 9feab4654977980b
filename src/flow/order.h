// Orders and trees over a control-flow graph: who precedes whom, who dominates whom, what loops.
//
// All of it works on plain edge lists, so any product that carries the same blocks can use it:
//
//   const Edges edges = edges_of(graph, EdgeSet::Normal);
//   const Order order(edges);                   // reverse postorder from the entry, block 0
//   const Tree dom = dominators(edges, order);  // dom.parent[b], dom.contains(a, b)
//   const Tree post = postdominators(edges, order);
//   const Loops loops = natural_loops(edges, order, dom);
//
// Nothing recurses, and everything takes near-linear time (dominators by Semi-NCA).
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "flow/graph.h"

namespace pellucid::flow {

enum class EdgeSet : uint8_t {
  Normal,        // exits only
  WithHandlers,  // and an edge from every block to the entry of the handler that protects it
};

// One list of blocks for each block, stored end to end.
class BlockLists {
 public:
  BlockLists() = default;
  // From (owner, member) pairs; the pairs' order is kept within an owner.
  BlockLists(size_t owners, const std::vector<std::pair<uint32_t, BlockId>>& pairs);

  std::span<const BlockId> operator[](BlockId owner) const {
    return {items_.data() + begin_[owner.index()], items_.data() + begin_[owner.index() + 1]};
  }
  size_t size() const { return begin_.empty() ? 0 : begin_.size() - 1; }

 private:
  std::vector<uint32_t> begin_;
  std::vector<BlockId> items_;
};

// Successors: next[0], next[1], then the handler's entry. A branch whose two ways are one block
// counts twice, and so does that block's predecessor. Predecessors ascend.
struct Edges {
  BlockLists successors;
  BlockLists predecessors;

  size_t size() const { return successors.size(); }
};

Edges edges_of(const Graph& graph, EdgeSet set);
// The same from any list of (from, to) pairs over `blocks` blocks.
Edges edges_of(size_t blocks, const std::vector<std::pair<BlockId, BlockId>>& pairs);

inline constexpr uint32_t kUnreached = 0xffffffffu;

// Reverse postorder of the blocks that the entry reaches over these edges.
struct Order {
  std::vector<BlockId> blocks;
  std::vector<uint32_t> number;  // of a block in `blocks`, kUnreached for the others

  explicit Order(const Edges& edges, BlockId entry = BlockId(0u));
  bool reached(BlockId block) const { return number[block.index()] != kUnreached; }
};

// A dominator or postdominator tree. Blocks outside of it (unreached ones) have no parent and are
// contained in nothing.
struct Tree {
  std::vector<BlockId> parent;  // immediate (post)dominator; invalid at the roots
  std::vector<uint32_t> depth;  // of a root: 0
  std::vector<uint32_t> enter;  // preorder numbers: a contains b iff
  std::vector<uint32_t> leave;  //   enter[a] <= enter[b] && enter[b] < leave[a]
  std::vector<BlockId> preorder;

  // Whether `a` (post)dominates `b`; every block does so to itself.
  bool contains(BlockId a, BlockId b) const {
    return enter[a.index()] <= enter[b.index()] && enter[b.index()] < leave[a.index()];
  }
  // The deepest block that contains both; invalid where only a virtual exit does.
  BlockId common(BlockId a, BlockId b) const;
};

Tree dominators(const Edges& edges, const Order& order);

// Over the reversed edges, from a virtual exit behind every block without successors. Its children
// are the roots (parent invalid). Endless loops get one edge to it, from the last block in reverse
// postorder that would not reach it otherwise.
Tree postdominators(const Edges& edges, const Order& order);

using LoopId = Id<struct LoopTag>;

struct Loop {
  BlockId header;
  std::vector<BlockId> latches;  // sources of the back edges, in reverse postorder
  LoopId parent;                 // the loop around it; invalid: none
  uint32_t depth = 1;            // 1: an outermost loop
  uint32_t end = 0;              // one past the last loop that is nested in this one
  uint32_t first = 0;            // into Loops::members
  uint32_t count = 0;            // inner loops' blocks included
};

// Natural loops, one for each header, outer ones before inner ones (preorder of the nesting).
struct Loops {
  std::vector<Loop> loops;
  std::vector<LoopId> innermost;  // of each block; invalid: in no loop
  std::vector<BlockId> members;   // see body()
  // Retreating edges whose target does not dominate their source: the graph is irreducible there.
  std::vector<std::pair<BlockId, BlockId>> irreducible;

  const Loop& operator[](LoopId id) const { return loops[id.index()]; }
  // All blocks of a loop: first its own in reverse postorder (the header leads), then inner loops'.
  std::span<const BlockId> body(LoopId id) const {
    return {members.data() + (*this)[id].first, (*this)[id].count};
  }
  bool contains(LoopId outer, LoopId inner) const {
    return inner.valid() && outer.index() <= inner.index() && inner.index() < (*this)[outer].end;
  }
  bool contains(LoopId loop, BlockId block) const {
    return contains(loop, innermost[block.index()]);
  }
  // The loop that `block` heads; invalid: none.
  LoopId headed_by(BlockId block) const {
    const LoopId loop = innermost[block.index()];
    return loop.valid() && (*this)[loop].header == block ? loop : LoopId();
  }
};

Loops natural_loops(const Edges& edges, const Order& order, const Tree& dominators);

}  // namespace pellucid::flow
