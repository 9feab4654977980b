// SPDX-License-Identifier: Apache-2.0
#include "structure/plan/evidence.h"

#include <algorithm>
#include <unordered_set>

#include "structure/graph/block_kinds.h"
#include "structure/graph/items.h"
#include "structure/plan/jumps.h"

namespace pellucid::structure {

namespace {

// Returns where the code written into the loop ends, if the bytecode shows it; 0: it does not. An
// inner loop shows its own end only.
uint32_t said_end_of_loop(const PlanContext& c, const Loop& loop) {
  const uint32_t own = c.analysis.loop_of_header[loop.header.index()];
  uint32_t said = 0;
  for (const BlockId member : loop.blocks) {
    if (c.analysis.innermost[member.index()] == own)
      said = std::max(said, c.graph[member].loop_end);
  }
  return said;
}

}  // namespace

uint32_t code_offset(const Graph& graph, BlockId block) {
  for (const ValueId item : graph[block].items) {
    const ir::Value& value = graph[item];
    if (!is_marker(value)) return value.offset;
  }
  return graph[block].offset;
}

bool is_laid_out_after(const Graph& graph, BlockId block, BlockId other) {
  return graph[block].offset > graph[other].offset;
}

uint8_t first_arm(const ir::Block& branch) { return static_cast<uint8_t>(1 - branch.jump); }

bool jumps(const Graph& graph, BlockId from, BlockId next) {
  constexpr uint32_t kNext = 4;
  const auto& items = graph[from].items;
  const uint32_t last = items.empty() ? graph[from].exit_offset : graph[items.back()].offset;
  return graph[next].offset > last + kNext || graph[next].offset < last;
}

bool is_before_clauses(const Graph& graph, BlockId block, BlockId entry) {
  return graph[block].offset < graph[entry].offset;
}

bool jumps_after_clauses(const Graph& graph, BlockId block, HandlerId handler) {
  if (graph.handlers[handler.index()].kind != HandlerKind::Except) return false;
  const uint32_t entry = graph[graph.f.handlers[handler.index()].entry].offset;
  for (const ValueId item : graph[block].items) {
    const ir::Value& value = graph[item];
    if (is_marker(value, flow::Marker::LeftByJump)) return value.offset > entry;
  }
  return false;
}

bool falls_through(const PlanContext& c, BlockId entry, BlockId to, const Scope& scope) {
  const Graph& graph = c.graph;
  std::unordered_set<int32_t> lines, ends;
  std::vector<BlockId> todo{entry};
  while (!todo.empty()) {
    const BlockId id = todo.back();
    todo.pop_back();
    const auto dominated = c.analysis.children(id);
    todo.insert(todo.end(), dominated.begin(), dominated.end());
    const ir::Block& block = graph[id];
    if (block.exit != ExitKind::Goto) lines.insert(block.exit_line);
    const bool leads_there =
        block.exit == ExitKind::Goto && skip_markers(c, block.next[0].to, scope) == to;
    for (const ValueId item : block.items) {
      const ir::Value& value = graph[item];
      if (!is_leaving(value)) lines.insert(value.line);
      if (leads_there && is_op(value, Op::PopExcept)) ends.insert(value.line);
    }
  }
  return std::any_of(ends.begin(), ends.end(), [&](int32_t line) { return lines.count(line) > 0; });
}

bool is_broken_to(const PlanContext& c, BlockId block) {
  constexpr size_t kFew = 4;
  const Graph& graph = c.graph;
  if (only_returns(graph, block)) return false;
  const auto is_mark = [&](ValueId item) { return is_leaving(graph[item]); };
  for (const Way& way : graph.ways_into(block)) {
    if (c.analysis.dominates(block, way.from)) continue;
    const auto& marks = graph[way.from].items;
    const int32_t left = marks.empty() ? graph[way.from].exit_line : graph[marks.back()].line;
    BlockId from = way.from;
    for (size_t steps = 0; steps < kFew && graph[from].exit == ExitKind::Goto; ++steps) {
      const auto& items = graph[from].items;
      const auto last = std::find_if_not(items.rbegin(), items.rend(), is_mark);
      if (last != items.rend()) {
        const bool is_clause = graph.exceptions_at(from, 0) > graph.exceptions_at(block, 0);
        if (is_clause && graph[*last].line > 0 && left > graph[*last].line) return true;
        break;
      }
      const auto ways = graph.ways_into(from);
      if (ways.size() != 1) break;
      from = (*ways.begin()).from;
    }
  }
  return false;
}

uint32_t end_of_loop(const PlanContext& c, const Loop& loop) {
  const uint32_t said = said_end_of_loop(c, loop);
  if (said != 0) return said;
  uint32_t seen = 0;
  for (const BlockId member : loop.blocks) {
    seen = std::max(seen, c.graph[member].exit_offset + 1);
  }
  return seen;
}

uint32_t end_before_handlers(const PlanContext& c, const Loop& loop) {
  const Graph& graph = c.graph;
  const uint32_t end = end_of_loop(c, loop);
  if (said_end_of_loop(c, loop) != 0) return end;
  uint32_t moved = end, seen = 0;
  for (const BlockId member : loop.blocks) {
    const HandlerId handler = graph[member].handler;
    if (!handler.valid()) continue;
    moved = std::min(moved, graph[graph.f.handlers[handler.index()].entry].offset);
  }
  for (const BlockId member : loop.blocks) {
    if (graph[member].offset < moved) seen = std::max(seen, graph[member].exit_offset + 1);
  }
  return seen;
}

LoopEnd end_of(const PlanContext& c, const Loop& loop, BlockId exhausted) {
  const Graph& graph = c.graph;
  LoopEnd end{end_of_loop(c, loop), 0};
  if (exhausted.valid()) {
    const uint32_t start = graph[loop.header].offset;
    BlockId after = exhausted;
    for (const ir::Edge& edge : graph[loop.header].next) {
      const bool ends_handler = !c.analysis.contains(loop, edge.to) &&
                                !graph[edge.to].items.empty() &&
                                only_markers(graph, graph[edge.to]);
      if (graph[after].offset <= start && ends_handler) after = edge.to;
    }
    if (graph[after].offset > start) end.of_all = graph[after].offset;
  }
  end.of_rest = std::min(end.of_all, end_before_handlers(c, loop));
  return end;
}

bool LoopEnd::is_before(const PlanContext& c, BlockId block) const {
  const uint32_t at = code_offset(c.graph, block);
  return at >= of_all || (at >= of_rest && is_broken_to(c, block));
}

bool is_tested_inside(const PlanContext& c, const Loop& loop, BlockId out_of) {
  const Graph& graph = c.graph;
  return !graph.tested_loops.contains(loop.header) &&
         graph[out_of].offset > graph[loop.header].exit_offset &&
         graph[out_of].offset < end_before_handlers(c, loop) && !only_returns(graph, out_of);
}

std::tuple<bool, uint32_t> rank_after_loop(const Graph& graph, BlockId place, bool falls_there) {
  return {!falls_there, graph[place].offset};
}

bool jumps_on_own_line(const Graph& graph, BlockId block) {
  const ir::Block& last = graph[block];
  return !last.items.empty() && last.exit_line > graph[last.items.back()].line;
}

}  // namespace pellucid::structure
