// SPDX-License-Identifier: Apache-2.0
// Orders and dominators, against their definitions on random graphs.
#include <utility>
#include <vector>

#include "flow/order.h"
#include "random.h"
#include "testing.h"

namespace pellucid::flow {
namespace {

using Pairs = std::vector<std::pair<BlockId, BlockId>>;

Edges edges_of(size_t blocks, const Pairs& pairs) {
  return Edges(blocks, [&](const auto& add) {
    for (const auto& [from, to] : pairs) add(from, to);
  });
}

// What the entry reaches without passing through `without`.
std::vector<bool> reach(const Edges& edges, BlockId without) {
  std::vector<bool> seen(edges.size());
  const BlockId entry(0u);
  if (entry == without) return seen;
  std::vector<BlockId> work{entry};
  seen[0] = true;
  while (!work.empty()) {
    const BlockId block = work.back();
    work.pop_back();
    for (const BlockId next : edges.successors[block]) {
      if (next == without || seen[next.index()]) continue;
      seen[next.index()] = true;
      work.push_back(next);
    }
  }
  return seen;
}

TEST("a dominator is on every path from the entry") {
  testing::Random random(1);
  for (int round = 0; round < 300; ++round) {
    const uint32_t blocks = 1 + random.below(12);
    Pairs pairs;
    for (uint32_t i = random.below(2 * blocks + 1); i-- > 0;) {
      const BlockId from(random.below(blocks));
      pairs.emplace_back(from, BlockId(random.below(blocks)));
    }
    const Edges edges = edges_of(blocks, pairs);
    const Tree tree = dominators(edges, BlockId(0u));
    const std::vector<bool> reached = reach(edges, BlockId());
    const Order order(edges);
    for (uint32_t a = 0; a < blocks; ++a) EXPECT_EQ(order.reached(BlockId(a)), bool(reached[a]));
    for (uint32_t a = 0; a < blocks; ++a) {
      const std::vector<bool> around = reach(edges, BlockId(a));
      for (uint32_t b = 0; b < blocks; ++b) {
        const bool dominates = reached[a] && reached[b] && !around[b];
        EXPECT_EQ(tree.contains(BlockId(a), BlockId(b)), dominates);
        if (!dominates || a == b) continue;
        // The immediate one is the nearest: every other one dominates it.
        EXPECT(tree.contains(BlockId(a), tree.parent[b]));
        EXPECT(tree.parent[b] != BlockId(b));
      }
    }
    EXPECT(!tree.parent[0].valid());
  }
}

TEST("an order has each block after those that dominate it") {
  testing::Random random(2);
  for (int round = 0; round < 300; ++round) {
    const uint32_t blocks = 1 + random.below(12);
    Pairs pairs;
    for (uint32_t i = random.below(2 * blocks + 1); i-- > 0;) {
      const BlockId from(random.below(blocks));
      pairs.emplace_back(from, BlockId(random.below(blocks)));
    }
    const Edges edges = edges_of(blocks, pairs);
    const Order order(edges);
    const Tree tree = dominators(edges, BlockId(0u));
    for (uint32_t i = 0; i < order.blocks.size(); ++i) {
      EXPECT_EQ(order.number[order.blocks[i].index()], i);
      const BlockId above = tree.parent[order.blocks[i].index()];
      if (above.valid()) EXPECT(order.number[above.index()] < i);
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
  const Tree tree = dominators(edges_of(blocks, pairs), BlockId(0u));
  for (uint32_t i = 1; i < blocks; ++i) EXPECT_EQ(tree.parent[i].value, i - 1);
  EXPECT_EQ(tree.enter[blocks - 1], blocks - 1);
}

}  // namespace
}  // namespace pellucid::flow
