// Orders, dominators and loops, against their definitions on random graphs.
#include <algorithm>
#include <utility>
#include <vector>

#include "flow/order.h"
#include "testing.h"

namespace pellucid::flow {
namespace {

using Pairs = std::vector<std::pair<BlockId, BlockId>>;

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint32_t below(size_t limit) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<uint32_t>((state_ >> 33) % limit);
  }

 private:
  uint64_t state_;
};

Pairs random_pairs(Random& random, uint32_t blocks, uint32_t count) {
  Pairs pairs;
  for (uint32_t i = 0; i < count; ++i)
    pairs.emplace_back(BlockId(random.below(blocks)), BlockId(random.below(blocks)));
  return pairs;
}

// What `start` reaches without passing through `without`.
std::vector<bool> reach(const BlockLists& successors, BlockId start, BlockId without) {
  std::vector<bool> seen(successors.size());
  if (start == without) return seen;
  std::vector<BlockId> work{start};
  seen[start.index()] = true;
  while (!work.empty()) {
    const BlockId block = work.back();
    work.pop_back();
    for (const BlockId next : successors[block]) {
      if (next == without || seen[next.index()]) continue;
      seen[next.index()] = true;
      work.push_back(next);
    }
  }
  return seen;
}

TEST("a dominator is on every path from the entry") {
  Random random(1);
  for (int round = 0; round < 300; ++round) {
    const uint32_t blocks = 1 + random.below(12);
    const Edges edges =
        edges_of(blocks, random_pairs(random, blocks, random.below(2 * blocks + 1)));
    const Order order(edges);
    const Tree tree = dominators(edges, order);
    const std::vector<bool> reached = reach(edges.successors, BlockId(0u), BlockId());
    for (uint32_t a = 0; a < blocks; ++a) {
      EXPECT_EQ(order.reached(BlockId(a)), bool(reached[a]));
      const std::vector<bool> around = reach(edges.successors, BlockId(0u), BlockId(a));
      for (uint32_t b = 0; b < blocks; ++b)
        if (reached[a] && reached[b])
          EXPECT_EQ(tree.contains(BlockId(a), BlockId(b)), !around[b]);
        else
          EXPECT(!tree.contains(BlockId(a), BlockId(b)));
    }
  }
}

TEST("a postdominator is on every path to an exit") {
  Random random(2);
  for (int round = 0; round < 300; ++round) {
    const uint32_t blocks = 1 + random.below(12);
    Pairs pairs = random_pairs(random, blocks, random.below(2 * blocks + 1));
    Edges edges = edges_of(blocks, pairs);
    const Order order(edges);
    const Tree tree = postdominators(edges, order);
    std::vector<bool> exits(blocks);
    for (const BlockId block : order.blocks) {
      const std::vector<bool> from = reach(edges.successors, block, BlockId());
      bool leaves = false;
      for (uint32_t i = 0; i < blocks; ++i)
        leaves = leaves || (from[i] && edges.successors[BlockId(i)].empty());
      exits[block.index()] = leaves;
    }
    for (const BlockId a : order.blocks) {
      for (const BlockId b : order.blocks) {
        // Where there is no way out at all, the tree has one of its own choice.
        if (!exits[b.index()]) continue;
        const std::vector<bool> around = reach(edges.successors, b, a);
        bool escapes = false;
        for (uint32_t i = 0; i < blocks; ++i)
          escapes = escapes || (around[i] && edges.successors[BlockId(i)].empty());
        // An endless loop on the way is one more way out for the tree.
        if (tree.contains(a, b)) EXPECT(!escapes);
        const bool always_leaves = std::all_of(
            order.blocks.begin(), order.blocks.end(),
            [&](BlockId block) { return exits[block.index()] || !around[block.index()]; });
        if (!escapes && always_leaves) EXPECT(tree.contains(a, b));
      }
    }
  }
}

TEST("a natural loop is what reaches its back edges without passing its header") {
  Random random(3);
  for (int round = 0; round < 300; ++round) {
    const uint32_t blocks = 1 + random.below(14);
    const Edges edges =
        edges_of(blocks, random_pairs(random, blocks, random.below(2 * blocks + 1)));
    const Order order(edges);
    const Tree tree = dominators(edges, order);
    const Loops loops = natural_loops(edges, order, tree);
    for (uint32_t i = 0; i < loops.loops.size(); ++i) {
      const Loop& loop = loops.loops[i];
      const auto body = loops.body(LoopId(i));
      EXPECT_EQ(body.front().value, loop.header.value);
      EXPECT_EQ(loops.headed_by(loop.header).value, i);
      std::vector<bool> wanted(blocks);
      wanted[loop.header.index()] = true;
      for (const BlockId latch : loop.latches) {
        EXPECT(tree.contains(loop.header, latch));
        const std::vector<bool> back = reach(edges.predecessors, latch, loop.header);
        for (uint32_t b = 0; b < blocks; ++b)
          if (back[b] && order.reached(BlockId(b))) wanted[b] = true;
      }
      for (uint32_t b = 0; b < blocks; ++b) {
        EXPECT_EQ(loops.contains(LoopId(i), BlockId(b)), bool(wanted[b]));
        EXPECT_EQ(std::find(body.begin(), body.end(), BlockId(b)) != body.end(), bool(wanted[b]));
      }
      if (loop.parent.valid()) EXPECT(loops.contains(loop.parent, LoopId(i)));
    }
  }
}

TEST("a chain of a hundred thousand blocks needs no deep stack") {
  Pairs pairs;
  const uint32_t blocks = 100000;
  for (uint32_t i = 0; i + 1 < blocks; ++i) {
    pairs.emplace_back(BlockId(i), BlockId(i + 1));
    if (i > 0) pairs.emplace_back(BlockId(blocks - 1 - i / 2), BlockId(i / 2 + 1));
  }
  const Edges edges = edges_of(blocks, pairs);
  const Order order(edges);
  const Tree tree = dominators(edges, order);
  EXPECT_EQ(tree.depth[blocks - 1], blocks - 1);
  const Loops loops = natural_loops(edges, order, tree);
  EXPECT(loops.irreducible.empty());
  EXPECT(loops.loops.size() > 1000);
  EXPECT_EQ(postdominators(edges, order).preorder.size(), size_t{blocks});
}

}  // namespace
}  // namespace pellucid::flow
