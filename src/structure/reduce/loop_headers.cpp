// SPDX-License-Identifier: Apache-2.0
#include "structure/reduce/loop_headers.h"

#include <algorithm>
#include <unordered_set>
#include <utility>
#include <vector>

#include "structure/graph/items.h"
#include "structure/graph/loops.h"

namespace pellucid::structure {
namespace {

// Returns the innermost region around the header that contains every back edge.
HandlerId region_of(const Graph& graph, const Loop& loop) {
  HandlerId region = graph[loop.header].handler;
  for (const Way& way : loop.back_edges) {
    while (region.valid() && !within(graph, graph[way.from].handler, region)) {
      region = graph.handlers[region.index()].outer;
    }
  }
  return region;
}

// Puts an empty block before the header, for every way into it except those for which `stays` is
// true.
template <typename Stays>
void insert_before_header(Graph& graph, BlockId header, HandlerId region, const Stays& stays) {
  ir::Block empty;
  empty.handler = region;
  empty.exc_depth = graph[header].exc_depth;
  empty.offset = graph[header].offset;
  empty.exit_offset = empty.offset;
  empty.exit_line = graph[header].exit_line;
  // Of two loops, the end belongs to the outer one.
  empty.loop_end = std::exchange(graph[header].loop_end, 0);
  empty.next[0].to = header;
  graph.f.blocks.push_back(std::move(empty));
  const BlockId fresh(graph.size() - 1);
  for (const Way way : graph.ways_into(header).copy()) {
    if (!stays(way.from)) graph.redirect(way.from, way.edge, fresh);
  }
}

void put_before_region(Graph& graph, const Loop& loop) {
  const HandlerId region = region_of(graph, loop);
  const HandlerId inside = graph[loop.header].handler;
  if (region == inside) return;
  // On the block stack, protection starts with an instruction there: a jump back from inside the
  // region belongs to a loop in its body.
  const bool on_block_stack = graph.f.handlers[inside.index()].is_on_block_stack();
  insert_before_header(graph, loop.header, region, [&](BlockId from) {
    return on_block_stack && within(graph, graph[from].handler, inside);
  });
}

// Returns true if a block has an item that does more than end regions and handlers.
bool is_statement(const Graph& graph, BlockId id) {
  const auto& items = graph[id].items;
  return !std::all_of(items.begin(), items.end(),
                      [&](ValueId item) { return is_leaving(graph[item]); });
}

// Returns true if `body`, the target of a test, is the body of another loop rather than of an `if`
// in the surrounding loop: only a `break` leaves a `try` to the other target of the test while the
// handlers of that `try` continue with other statements.
bool is_own_loop(const Graph& graph, const Analysis& analysis, const Loop& loop, BlockId body) {
  const ir::Block& header = graph[loop.header];
  const auto is_inner = [&](BlockId id) { return analysis.dominates(body, id); };
  bool breaks = false;
  std::unordered_set<BlockId> handling;
  std::vector<BlockId> todo;
  for (const BlockId member : loop.blocks) {
    if (!is_inner(member)) continue;
    const HandlerId region = graph[member].handler;
    if (region.valid() && region != header.handler) {
      const BlockId entry = graph.f.handlers[region.index()].entry;
      if (is_inner(entry) && handling.insert(entry).second) todo.push_back(entry);
    }
    const bool leaves =
        region != header.handler || (!graph[member].items.empty() && !is_statement(graph, member));
    for (const ir::Edge& edge : graph[member].next) {
      breaks |= leaves && edge.to.valid() && edge.to != loop.header && !is_inner(edge.to);
    }
  }
  if (!breaks) return false;
  while (!todo.empty()) {
    const BlockId id = todo.back();
    todo.pop_back();
    for (const ir::Edge& edge : graph[id].next) {
      if (edge.to == loop.header && graph[id].handler == header.handler &&
          is_statement(graph, id)) {
        return true;
      }
      if (edge.to.valid() && is_inner(edge.to) && handling.insert(edge.to).second) {
        todo.push_back(edge.to);
      }
    }
  }
  return false;
}

// Separates `while True:` from a `while test:` at its start. Both start at the test; back edges
// from the inner body belong to the inner loop, all others to the outer one.
void part_from_outer(Graph& graph, const Analysis& analysis, const Loop& loop) {
  const ir::Block& header = graph[loop.header];
  if (header.exit != ExitKind::Branch || loop.back_edges.size() < 2) return;
  const bool is_tested = graph.tested_loops.contains(loop.header);
  for (uint8_t edge = 0; edge < 2; ++edge) {
    const BlockId body = header.next[edge].to;
    if (body == loop.header || (is_tested && edge != graph.tested_loops.at(loop.header))) continue;
    const auto is_inner = [&](BlockId from) { return analysis.dominates(body, from); };
    const auto inner =
        static_cast<size_t>(std::count_if(loop.back_edges.begin(), loop.back_edges.end(),
                                          [&](const Way& way) { return is_inner(way.from); }));
    if (inner == 0 || inner == loop.back_edges.size()) continue;
    if (!is_tested && !is_own_loop(graph, analysis, loop, body)) continue;
    insert_before_header(graph, loop.header, region_of(graph, loop), is_inner);
    return;
  }
}

template <typename Visit>
void for_each_loop(Graph& graph, const Analysis& analysis, const Visit& visit) {
  const size_t before = graph.size();
  for (const Loop& loop : analysis.loops) {
    if (graph[loop.header].params.empty()) visit(loop);
  }
  if (graph.size() != before) graph.recompute();
}

}  // namespace

void place_loop_headers(Graph& graph, KnownAnalysis& known) {
  const size_t before = graph.size();
  for (const BlockId id : std::vector<BlockId>(graph.order())) {
    if (graph[id].exit == ExitKind::ForIter && graph[id].params.empty() &&
        !graph[id].items.empty() && graph.ways_into(id).size() > 1) {
      graph.split(id, graph[id].items.size());
    }
  }
  if (graph.size() != before) graph.recompute();
  if (!may_loop(graph)) return;
  const Analysis& before_parting = known.of(graph);
  for_each_loop(graph, before_parting,
                [&](const Loop& loop) { part_from_outer(graph, before_parting, loop); });
  for_each_loop(graph, known.of(graph), [&](const Loop& loop) { put_before_region(graph, loop); });
}

}  // namespace pellucid::structure
