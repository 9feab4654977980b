// SPDX-License-Identifier: Apache-2.0
#include "structure/graph/loops.h"

#include <algorithm>
#include <utility>

#include "structure/graph/not_structured.h"

namespace pellucid::structure {
namespace {

constexpr uint32_t kNone = ~0u;
// A text has at most a hundred levels of indentation, and a loop takes one. The sizes of loops that
// nest without a limit add up to the square of the number of their blocks.
constexpr uint32_t kDeepest = 100;

// All edges, handlers included: an exception may come from any block that is protected.
flow::Edges edges_of(const Graph& graph) {
  return flow::Edges(graph.size(), [&](const auto& add) {
    for (const BlockId id : graph.order()) {
      for (const Way way : graph.ways_into(id)) add(way.from, id);
      const HandlerId handler = graph[id].handler;
      if (handler.valid()) add(id, graph.f.handlers[handler.index()].entry);
    }
  });
}

}  // namespace

bool Analysis::contains(const Loop& loop, BlockId block) const {
  uint32_t around = innermost[block.index()];
  while (around != kNone && loops[around].depth > loop.depth) around = loops[around].outer;
  return around != kNone && loops[around].header == loop.header;
}

bool may_loop(const Graph& graph) {
  const auto& order = graph.order();
  std::vector<uint32_t> number(graph.size(), kNone);
  for (size_t i = 0; i < order.size(); ++i) number[order[i].index()] = static_cast<uint32_t>(i);
  return std::any_of(order.begin(), order.end(), [&](BlockId id) {
    const auto ways = graph.ways_into(id);
    return std::any_of(ways.begin(), ways.end(), [&](const Way way) {
      return number[way.from.index()] >= number[id.index()];
    });
  });
}

Analysis analyse(const Graph& graph) {
  Analysis out;
  const size_t count = graph.size();
  const auto& order = graph.order();
  out.number.assign(count, 0);
  out.loop_of_header.assign(count, kNone);
  out.innermost.assign(count, kNone);
  for (size_t i = 0; i < order.size(); ++i) out.number[order[i].index()] = static_cast<uint32_t>(i);
  if (order.size() == 1 && graph.ways_into(graph.entry()).empty()) return out;

  const flow::Edges edges = edges_of(graph);
  out.tree_ = flow::dominators(edges, graph.entry());
  out.children_ = flow::BlockLists(count, [&](const auto& add) {
    for (size_t i = 1; i < order.size(); ++i) add(out.idom(order[i]), order[i]);
  });

  // Natural loops: a back edge leads to a block that dominates its source. Outer loops come first,
  // so that an inner one overwrites `innermost`.
  std::vector<uint32_t> seen(count, kNone);  // by block: the last loop that has found it
  std::vector<BlockId> todo;
  for (const BlockId id : order) {
    Loop loop;
    loop.header = id;
    for (const Way way : graph.ways_into(id)) {
      if (out.dominates(id, way.from)) {
        loop.back_edges.push_back(way);
      } else if (out.number[way.from.index()] >= out.number[id.index()]) {
        out.reducible = false;
      }
    }
    if (loop.back_edges.empty()) continue;
    const auto index = static_cast<uint32_t>(out.loops.size());
    loop.outer = out.innermost[id.index()];
    loop.depth = loop.outer == kNone ? 0 : out.loops[loop.outer].depth + 1;
    if (loop.depth == kDeepest)
      throw NotStructured("loops nested beyond the limit", graph[id].offset);
    const auto add = [&](BlockId block) {
      seen[block.index()] = index;
      out.innermost[block.index()] = index;
      loop.blocks.push_back(block);
    };
    add(id);
    for (const Way& way : loop.back_edges) todo.push_back(way.from);
    while (!todo.empty()) {
      const BlockId block = todo.back();
      todo.pop_back();
      if (seen[block.index()] == index) continue;
      add(block);
      for (const BlockId p : edges.predecessors[block]) todo.push_back(p);
    }
    out.loop_of_header[id.index()] = index;
    out.loops.push_back(std::move(loop));
  }
  return out;
}

}  // namespace pellucid::structure
