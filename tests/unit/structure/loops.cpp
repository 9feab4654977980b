// SPDX-License-Identifier: Apache-2.0
// Loops of a Graph, against their definition on random graphs, and of compiled files.
#include <algorithm>
#include <utility>
#include <vector>

#include "bytecode/decode.h"
#include "flow/build.h"
#include "ir/lift.h"
#include "object/pyc.h"
#include "random.h"
#include "samples.h"
#include "structure/graph/loops.h"
#include "testing.h"

namespace pellucid::structure {
namespace {

// Blocks without items, each with up to two ways on; nothing leads to the entry.
Graph random_graph(testing::Random& random) {
  ir::Function function;
  function.values.resize(1);
  const uint32_t blocks = 2 + random.below(12);
  function.blocks.resize(blocks);
  for (ir::Block& block : function.blocks) {
    const uint32_t ways = random.below(3);
    block.exit = ways == 0 ? ExitKind::Return : ways == 1 ? ExitKind::Goto : ExitKind::Branch;
    if (ways != 1) block.operands = {ir::kNull};
    for (uint32_t k = 0; k < ways; ++k) block.next[k].to = BlockId(1 + random.below(blocks - 1));
  }
  return Graph(std::move(function));
}

// What leads to `latch` without passing through `header`.
std::vector<bool> back_from(const Graph& graph, BlockId latch, BlockId header) {
  std::vector<bool> seen(graph.size());
  if (latch == header) return seen;
  std::vector<BlockId> work{latch};
  seen[latch.index()] = true;
  while (!work.empty()) {
    const BlockId block = work.back();
    work.pop_back();
    for (const Way way : graph.ways_into(block)) {
      if (way.from == header || seen[way.from.index()]) continue;
      seen[way.from.index()] = true;
      work.push_back(way.from);
    }
  }
  return seen;
}

TEST("the only block of a graph has no dominator but itself") {
  ir::Function function;
  function.values.resize(1);
  function.blocks.resize(1);
  function.blocks[0].exit = ExitKind::Return;
  function.blocks[0].operands = {ir::kNull};
  const Graph graph(std::move(function));
  const Analysis analysis = analyse(graph);
  const BlockId only = graph.entry();
  EXPECT(!analysis.idom(only).valid());
  EXPECT(analysis.dominates(only, only));
  EXPECT(analysis.children(only).empty());
  EXPECT(analysis.loops.empty());
}

TEST("a natural loop is what reaches its back edges without passing its header") {
  testing::Random random(3);
  for (int round = 0; round < 300; ++round) {
    const Graph graph = random_graph(random);
    const Analysis analysis = analyse(graph);
    for (const BlockId header : graph.order()) {
      const uint32_t index = analysis.loop_of_header[header.index()];
      std::vector<bool> wanted(graph.size());
      for (const Way way : graph.ways_into(header)) {
        if (!analysis.dominates(header, way.from)) continue;
        EXPECT(index != ~0u);
        wanted[header.index()] = true;
        const std::vector<bool> back = back_from(graph, way.from, header);
        for (size_t b = 0; b < graph.size(); ++b) wanted[b] = wanted[b] || back[b];
      }
      if (index == ~0u) continue;
      const Loop& loop = analysis.loops[index];
      EXPECT_EQ(loop.header.value, header.value);
      EXPECT_EQ(loop.blocks.front().value, header.value);
      for (size_t b = 0; b < graph.size(); ++b) {
        const auto found = std::count(loop.blocks.begin(), loop.blocks.end(), BlockId(b));
        EXPECT_EQ(found, wanted[b] ? 1 : 0);
        // Loops that overlap without being nested are in graphs with several entries to one.
        if (analysis.reducible) EXPECT_EQ(analysis.contains(loop, BlockId(b)), bool(wanted[b]));
      }
    }
  }
}

TEST("the loops of compiled code have one entry each") {
  for (const std::string& version : testing::sample_versions()) {
    const Result<object::Module> module = object::read_pyc(testing::sample_pyc(version));
    REQUIRE(module.ok());
    size_t loops = 0;
    for (size_t i = 0; i < module->codes.size(); ++i) {
      const Result<bytecode::Stream> stream = bytecode::decode(*module, object::CodeId(i));
      REQUIRE(stream.ok());
      const Result<flow::Graph> graph = flow::build(*module, *stream);
      REQUIRE(graph.ok());
      const Result<ir::Function> function = ir::lift(*graph);
      REQUIRE(function.ok());
      const Analysis analysis = analyse(Graph(ir::Function(*function)));
      EXPECT(analysis.reducible);
      loops += analysis.loops.size();
    }
    EXPECT(loops > 0);
  }
}

}  // namespace
}  // namespace pellucid::structure
