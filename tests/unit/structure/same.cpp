// SPDX-License-Identifier: Apache-2.0
// Items compared: in what they may differ, and what their operands stand for.
#include "structure/graph/same.h"

#include "graph_text.h"
#include "testing.h"

namespace pellucid::structure {
namespace {

// The values of a graph by the place of their items: `at(0, 2)` is the third item of block 0.
struct Items {
  explicit Items(const char* source) : text(read_graph(source)) {}
  const Graph& graph() const { return text.reduction->graph; }
  ValueId at(uint32_t block, size_t index) const { return graph()[BlockId(block)].items[index]; }
  std::span<const ValueId> of(uint32_t block) const { return graph()[BlockId(block)].items; }
  TextGraph text;
};

TEST("operations are the same on one line only, unless lines may differ") {
  const Items items(R"(b0
  line 1
  v1 = LoadGlobal x
  line 2
  v2 = LoadGlobal x
  v3 = LoadGlobal y
  return v3
)");
  EXPECT(!same_operation(items.graph(), items.at(0, 0), items.at(0, 1)));
  EXPECT(same_operation(items.graph(), items.at(0, 0), items.at(0, 1), {.lines = true}));
  EXPECT(!same_operation(items.graph(), items.at(0, 1), items.at(0, 2), {.lines = true}));
}

TEST("what a Pop drops, and whether a local may be unbound, make a difference unless they may") {
  const Items items(R"(b0
  line 1
  v1 = LoadFast x
  v2 = LoadFast x  ; b 1
  v3 = Pop v1
  v4 = Pop v2  ; b 6
  v5 = Pop v2  ; b 1
  return v1
)");
  const Graph& graph = items.graph();
  EXPECT(!same_operation(graph, items.at(0, 0), items.at(0, 1)));
  EXPECT(same_operation(graph, items.at(0, 0), items.at(0, 1), {.unbound = true}));
  EXPECT(!same_operation(graph, items.at(0, 2), items.at(0, 3)));
  EXPECT(same_operation(graph, items.at(0, 2), items.at(0, 3), {.drops = true}));
  // The iterator of a loop is no expression statement.
  EXPECT(!same_operation(graph, items.at(0, 2), items.at(0, 4), {.drops = true}));
}

TEST("operands are the same if they are twins, parts of twins, or from before both pieces") {
  const Items items(R"(b0
  line 1
  v1 = LoadGlobal x
  branch v1 -> b1 -> b2
b1
  v2 = LoadGlobal y
  v3 = Binary 0 v1 v2
  v4 = UnpackSequence 2 v3
  let v5 = element 0 v4
  v6 = StoreFast a v5
  return v1
b2
  v7 = LoadGlobal y
  v8 = Binary 0 v1 v7
  v9 = UnpackSequence 2 v8
  let v10 = element 0 v9
  let v11 = element 1 v9
  v12 = StoreFast a v10
  v13 = StoreFast a v11
  return v7
)");
  Twins twins(items.graph());
  EXPECT(twins.same_items(items.of(1), items.of(2).first(4)));
  EXPECT(twins.knows(items.at(1, 0)));
  EXPECT(!twins.knows(items.at(0, 0)));
  EXPECT(twins.same(items.at(0, 0), items.at(0, 0)));
  EXPECT(twins.same(items.at(1, 1), items.at(2, 1)));
  EXPECT(!twins.same(items.at(1, 1), items.at(1, 1)));
  EXPECT(!twins.same_item(items.at(1, 3), items.at(2, 4)));
}

}  // namespace
}  // namespace pellucid::structure
