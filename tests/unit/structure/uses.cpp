// SPDX-License-Identifier: Apache-2.0
// How often values are used: what a graph keeps is what a recount says.
#include "structure/graph/uses.h"

#include "base/check.h"
#include "graph_text.h"
#include "testing.h"

namespace pellucid::structure {
namespace {

const char* const kGraph = R"(b0
  line 1
  v1 = LoadGlobal x
  v2 = LoadGlobal y
  branch v1 -> b1(v1, v2) -> b2
b1(v3, v4)
  goto -> b3(v3, v2)
b2
  v5 = LoadConst 1
  goto -> b3(v5, v5)
b3(v6, v7)
  v8 = Binary 0 v6 v7
  return v8
)";

bool is_checked(const Graph& graph) {
  try {
    check(graph);
  } catch (const InternalError&) {
    return false;
  }
  return true;
}

TEST("a use more or less than there are fails the check") {
  const TextGraph text = read_graph(kGraph);
  Graph& graph = text.reduction->graph;
  EXPECT(is_checked(graph));
  const ValueId x = graph[BlockId(0u)].items[0];
  EXPECT_EQ(graph[x].uses, 2u);
  add_use(graph, x);
  EXPECT(!is_checked(graph));
  drop_use(graph, x);
  EXPECT(is_checked(graph));
}

TEST("a block that is jumped over uses nothing any more") {
  const TextGraph text = read_graph(kGraph);
  Graph& graph = text.reduction->graph;
  const ValueId y = graph[BlockId(0u)].items[1];
  EXPECT_EQ(graph[y].uses, 2u);
  thread_empty_blocks(graph);
  EXPECT(!graph.reachable(BlockId(1u)));
  EXPECT_EQ(graph[y].uses, 1u);
  EXPECT(is_checked(graph));
}

TEST("what a block has used is released with it") {
  const TextGraph text = read_graph(kGraph);
  Graph& graph = text.reduction->graph;
  release(graph, BlockId(2u));
  EXPECT_EQ(graph[graph[BlockId(2u)].items[0]].uses, 0u);
}

}  // namespace
}  // namespace pellucid::structure
