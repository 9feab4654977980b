// SPDX-License-Identifier: Apache-2.0
// Walks past what does nothing: what they pass, where they stop.
#include "structure/graph/walk.h"

#include "graph_text.h"
#include "testing.h"

namespace pellucid::structure {
namespace {

const char* const kWalked = R"(line 1
b0
  v1 = LoadFast x
  branch v1 -> b1 -> b4
b1
  goto -> b2
b2
  v2 = Marker 0
  goto -> b3
b3
  v3 = Marker 3
  v4 = LoadConst 1
  return v4
b4
  goto -> b5
b5
  v5 = Marker 0
  goto -> b4
)";

TEST("skip passes empty blocks, and marks only where it is told to") {
  const TextGraph text = read_graph(kWalked);
  const Graph& graph = text.reduction->graph;
  EXPECT_EQ(skip(graph, BlockId(0u), Skipped::Marks).value, 0u);
  EXPECT_EQ(skip(graph, BlockId(1u), Skipped::Empty).value, 2u);
  // The empty body of a `try` is a statement.
  EXPECT_EQ(skip(graph, BlockId(1u), Skipped::Marks).value, 3u);
}

TEST("skip leaves only what it may leave") {
  const TextGraph text = read_graph(kWalked);
  const Graph& graph = text.reduction->graph;
  const BlockId last = skip(graph, BlockId(1u), Skipped::Marks,
                            [](BlockId left, const ir::Edge&) { return left == BlockId(1u); });
  EXPECT_EQ(last.value, 2u);
}

TEST("a walk stops in the middle of a block, and ends in a circle") {
  const TextGraph text = read_graph(kWalked);
  const Graph& graph = text.reduction->graph;
  Cursor at{BlockId(2u)};
  const auto follow = [&](const ir::Edge& edge) {
    at = {edge.to};
    return true;
  };
  const auto is_mark = [&](ValueId item) { return is_marker(graph[item]); };
  EXPECT(walk_past(graph, at, is_mark, follow));
  EXPECT_EQ(at.block.value, 3u);
  EXPECT_EQ(at.index, size_t{1});
  at = {BlockId(4u)};
  EXPECT(!walk_past(graph, at, is_mark, follow));
  at = {BlockId(4u)};
  EXPECT(walk_past(graph, at, [](ValueId) { return false; }, follow));
  EXPECT_EQ(at.block.value, 5u);
}

}  // namespace
}  // namespace pellucid::structure
