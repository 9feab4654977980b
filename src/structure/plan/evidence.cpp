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

bool returns_none(const PlanContext& c, const ir::Block& block) {
  if (block.exit != ExitKind::Return) return false;
  const ir::Value& value = c.graph[c.graph.resolve(block.operands[0])];
  return is_op(value, Op::LoadConst) && c.module[value.constant()].kind == object::ConstKind::None;
}

// Returns the line of the first code of a block.
int32_t first_line(const Graph& graph, BlockId block) {
  for (const ValueId item : graph[block].items) {
    if (!is_marker(graph[item]) && graph[item].line > 0) return graph[item].line;
  }
  return graph[block].exit_line;
}

constexpr int32_t kUnknown = -1;
constexpr int32_t kStep = 4;  // the usual indentation

object::SourcePlace place_at(const Graph& graph, uint32_t offset) {
  return graph.places == nullptr ? object::SourcePlace() : graph.places->at(offset / 2);
}

int32_t column_at(const Graph& graph, uint32_t offset) {
  const uint16_t begin = place_at(graph, offset).columns.begin;
  return begin == object::kNoColumn ? kUnknown : begin;
}

// Returns the column in which a `return` or `raise` starts. The constant of a `return` has given it
// its own place (compiler_return).
int32_t column_of_exit(const Graph& graph, BlockId exit) {
  constexpr int32_t kReturn = 7;  // `return `
  const ir::Block& block = graph[exit];
  const object::SourcePlace own = place_at(graph, block.exit_offset);
  const int32_t column = column_at(graph, block.exit_offset);
  const bool is_constant = block.exit == ExitKind::Return &&
                           is_op(graph[graph.resolve(block.operands[0])], Op::LoadConst);
  return is_constant && own.columns.width() != kReturn - 1 ? column - kReturn : column;
}

// Returns which blocks only handlers lead to.
std::vector<uint8_t> handling_blocks(const PlanContext& c) {
  std::vector<uint8_t> found(c.graph.size(), 0);
  std::vector<BlockId> todo;
  for (const flow::Handler& handler : c.graph.f.handlers) todo.push_back(handler.entry);
  while (!todo.empty()) {
    const BlockId id = todo.back();
    todo.pop_back();
    if (!c.graph.reachable(id) || found[id.index()]++ != 0) continue;
    const auto inside = c.analysis.children(id);
    todo.insert(todo.end(), inside.begin(), inside.end());
  }
  return found;
}

// Returns the column of a `while`. The test of an endless one has left a NOP of its width (3.12+).
int32_t column_of_while(const Graph& graph, const Loop& loop, bool is_tested) {
  constexpr int32_t kWhile = 6, kTrue = 4, kOne = 1;
  if (graph.places == nullptr) return kUnknown;
  if (is_tested) {
    int32_t least = INT32_MAX;
    for (const ValueId item : graph[loop.header].items) {
      const int32_t column = column_at(graph, graph[item].offset);
      if (column != kUnknown) least = std::min(least, column);
    }
    return least == INT32_MAX ? kUnknown : std::max(least - kWhile, kUnknown);
  }
  const uint32_t start = graph[loop.header].offset / 2;
  for (uint32_t unit = start; unit > 0; --unit) {
    if (!graph.places->is_nop(unit)) {
      if (unit == start) continue;
      break;
    }
    const object::Columns columns = graph.places->columns(unit);
    if (columns.width() == kTrue || columns.width() == kOne) return columns.begin - kWhile;
  }
  return kUnknown;
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

bool is_returned_before(const PlanContext& c, HandlerId handler, BlockId block) {
  const Graph& graph = c.graph;
  const ir::Block& exit = graph[block];
  if (graph.places == nullptr || !only_returns(graph, block)) return false;
  if (returns_none(c, exit) || exit.exit_line <= 0) return false;
  const ir::Value& value = graph[graph.resolve(exit.operands[0])];
  if (!is_op(value, Op::LoadConst) || value.line != exit.exit_line) return false;
  std::vector<BlockId> todo{graph.f.handlers[handler.index()].entry};
  const uint32_t handled = graph.exceptions_at(todo[0], 0);
  while (!todo.empty()) {
    const BlockId id = todo.back();
    todo.pop_back();
    if (graph.exceptions_at(id, 0) < handled) continue;
    const auto& items = graph[id].items;
    if (std::any_of(items.begin(), items.end(),
                    [&](ValueId item) { return graph[item].line >= exit.exit_line; })) {
      return true;
    }
    const auto inside = c.analysis.children(id);
    todo.insert(todo.end(), inside.begin(), inside.end());
  }
  return false;
}

std::optional<bool> is_in_else(const PlanContext& c, HandlerId handler, BlockId code) {
  const Graph& graph = c.graph;
  const auto region = c.protection.region(handler);
  if (graph.places == nullptr || region.empty()) return {};
  const auto first = std::min_element(region.begin(), region.end(), [&](BlockId a, BlockId b) {
    return graph[a].offset < graph[b].offset;
  });
  const int32_t line = first_line(graph, code);
  const int32_t clause = first_line(graph, graph.f.handlers[handler.index()].entry);
  if (line <= clause) return {};
  const uint32_t start = graph[*first].offset / 2;
  for (uint32_t unit = start; unit > 0; --unit) {
    if (!graph.places->is_nop(unit)) {
      if (unit == start) continue;
      break;
    }
    const object::SourcePlace place = graph.places->at(unit);
    if (place.end_line > place.line && place.end_line >= clause) return line <= place.end_line;
  }
  return {};
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

bool goes_back_before(const PlanContext& c, const Loop& loop) {
  const Graph& graph = c.graph;
  const int32_t line = first_line(graph, loop.header);
  if (line <= 0 || graph.tested_loops.contains(loop.header)) return false;
  const auto ways = graph.ways_into(loop.header);
  return std::any_of(ways.begin(), ways.end(), [&](const Way& way) {
    const ir::Block& from = graph[way.from];
    return c.analysis.contains(loop, way.from) && from.exit == ExitKind::Goto &&
           from.exit_line > 0 && from.exit_line < line;
  });
}

LoopPlaces::LoopPlaces(const PlanContext& c, const Loop& loop, bool is_tested)
    : c_(c),
      loop_(loop),
      own_column_(column_of_while(c.graph, loop, is_tested)),
      least_column_(INT32_MAX) {
  const Graph& graph = c.graph;
  const std::vector<uint8_t> handles = handling_blocks(c);
  const bool is_clause = handles[loop.header.index()] != 0;
  for (const BlockId member : loop.blocks) {
    if (is_tested && member == loop.header) continue;
    for (const ValueId item : graph[member].items) {
      const ir::Value& value = graph[item];
      if (value.line <= 0 || only_leaves(value)) continue;
      last_line_ = std::max(last_line_, value.line);
      const int32_t column = column_at(graph, value.offset);
      if (column != kUnknown) least_column_ = std::min(least_column_, column);
      if (is_clause || handles[member.index()] == 0) lines_.push_back({value.offset, value.line});
    }
  }
  std::sort(lines_.begin(), lines_.end(), [](Line a, Line b) { return a.offset < b.offset; });
  for (size_t i = lines_.size(); i-- > 1;) {
    lines_[i - 1].line = std::min(lines_[i - 1].line, lines_[i].line);
  }
}

// Returns true if code of the loop is laid out after an offset, on a line before the given one.
bool LoopPlaces::has_moved(uint32_t offset, int32_t line) const {
  const auto next = std::upper_bound(lines_.begin(), lines_.end(), offset,
                                     [](uint32_t at, Line each) { return at < each.offset; });
  return next != lines_.end() && next->line < line;
}

// Returns true if the exit has the place of its own statement: it does not come after code that
// leaves a `with` or a `finally` in the loop, whose place it would have.
bool LoopPlaces::has_own_place(BlockId exit) const {
  const Graph& graph = c_.graph;
  const ir::Block& block = graph[exit];
  for (const ValueId item : block.items) {
    if (!only_leaves(graph[item]) && graph[item].line != block.exit_line) return false;
  }
  for (const Way& way : graph.ways_into(exit)) {
    HandlerId region = graph[way.from].handler;
    if (!within(graph, region, graph[loop_.header].handler)) return false;
    for (; region != graph[loop_.header].handler; region = graph.handlers[region.index()].outer) {
      const HandlerKind kind = graph.handlers[region.index()].kind;
      if (kind == HandlerKind::With || kind == HandlerKind::Finally) return false;
    }
  }
  return block.exit_line > 0;
}

Written LoopPlaces::of(BlockId exit) const {
  const Graph& graph = c_.graph;
  const ir::Block& block = graph[exit];
  const bool leaves = block.exit == ExitKind::Return || block.exit == ExitKind::Raise;
  if (!leaves || block.next[0].to.valid() || !has_own_place(exit)) return Written::Unknown;
  // The end of the function is written nowhere.
  if (returns_none(c_, block) || last_line_ == kUnknown) return Written::Unknown;
  if (block.exit_line < last_line_) return Written::Inside;
  if (block.exit_line == last_line_) return Written::Unknown;
  if (has_moved(block.exit_offset, block.exit_line)) return Written::After;
  const int32_t column = column_of_exit(graph, exit);
  if (column == kUnknown) return Written::Unknown;
  if (own_column_ == kUnknown) {
    return column + kStep <= least_column_ ? Written::After : Written::Unknown;
  }
  if (column > own_column_) return Written::Inside;
  return column < least_column_ ? Written::After : Written::Unknown;
}

std::tuple<bool, uint32_t> rank_after_loop(const Graph& graph, BlockId place, bool falls_there) {
  return {!falls_there, graph[place].offset};
}

bool jumps_on_own_line(const Graph& graph, BlockId block) {
  const ir::Block& last = graph[block];
  return !last.items.empty() && last.exit_line > graph[last.items.back()].line;
}

}  // namespace pellucid::structure
