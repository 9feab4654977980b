// SPDX-License-Identifier: Apache-2.0
#include "structure/plan/jumps.h"

#include <algorithm>

#include "structure/graph/block_kinds.h"
#include "structure/graph/items.h"

namespace pellucid::structure {

namespace {

bool is_none(const PlanContext& c, object::ConstId constant) {
  return c.module[constant].kind == object::ConstKind::None;
}

}  // namespace

bool left_by_jump(const Graph& graph, BlockId block) {
  return marks_jumps(graph) && has_marker(graph, block, flow::Marker::LeftByJump);
}

bool starts_after_jump(const Graph& graph, BlockId block) {
  for (const ValueId item : graph[block].items) {
    const ir::Value& value = graph[item];
    if (value.kind != ValueKind::Instr) return false;
    if (is_marker(value, flow::Marker::LeftByJump)) return true;
    const bool does_nothing =
        is_leaving(value) || value.op == Op::LoadConst || drops(value, ir::Dropped::Iterator);
    if (!does_nothing) return false;
  }
  return false;
}

bool ends_clause(const Graph& graph, BlockId block) {
  return has_marker(graph, block, flow::Marker::EndOfClause);
}

bool never_ends(const Graph& graph, BlockId block) {
  return graph[block].exit == ExitKind::Reraise && graph[block].operands.empty();
}

bool drops_and_returns(const Graph& graph, BlockId block) {
  constexpr size_t kFew = 8;
  for (size_t steps = 0; steps < kFew && block.valid() && !only_returns(graph, block); ++steps) {
    const ir::Block& b = graph[block];
    if (b.exit != ExitKind::Goto || !b.next[0].args.empty() || !cannot_raise(graph, block)) {
      return false;
    }
    block = b.next[0].to;
  }
  return block.valid() && only_returns(graph, block);
}

bool same_return(const Graph& graph, BlockId a, BlockId b) {
  if (!only_returns(graph, a) || !only_returns(graph, b)) return false;
  const ir::Value& x = graph[graph.resolve(graph[a].operands[0])];
  const ir::Value& y = graph[graph.resolve(graph[b].operands[0])];
  return is_op(x, Op::LoadConst) && is_op(y, Op::LoadConst) && x.a == y.a;
}

bool returns_from_outer(const Graph& graph, BlockId block) {
  bool drops = false;
  for (size_t steps = 0; steps <= graph.size(); ++steps) {
    const ir::Block& b = graph[block];
    if (b.exit == ExitKind::Return) return drops && graph.ways_into(block).size() == 1;
    if (b.exit != ExitKind::Goto || !cannot_raise(graph, block)) return false;
    drops = drops || !only_markers(graph, b);
    block = b.next[0].to;
  }
  return false;
}

bool returns_from_before(const Graph& graph, BlockId block) {
  std::vector<ValueId> made;
  for (size_t steps = 0; steps <= graph.size(); ++steps) {
    const ir::Block& b = graph[block];
    made.insert(made.end(), b.items.begin(), b.items.end());
    if (b.exit == ExitKind::Return) {
      return !b.operands.empty() &&
             std::find(made.begin(), made.end(), graph.resolve(b.operands[0])) == made.end();
    }
    if (b.exit != ExitKind::Goto || !b.next[0].args.empty() || !cannot_raise(graph, block)) {
      return false;
    }
    block = b.next[0].to;
  }
  return false;
}

bool is_dead_end(const PlanContext& c, BlockId block) {
  const Graph& graph = c.graph;
  const ir::Block& b = graph[block];
  if (b.exit != ExitKind::Return || !only_returns(graph, block)) return false;
  const ir::Value& value = graph[graph.resolve(b.operands[0])];
  if (!is_op(value, Op::LoadConst) || !is_none(c, value.constant())) return false;
  const auto ways = graph.ways_into(block);
  return !ways.empty() && std::all_of(ways.begin(), ways.end(), [&](const Way& way) {
    const ExitKind exit = graph[way.from].exit;
    return exit == ExitKind::Reraise || exit == ExitKind::Raise || exit == ExitKind::Return;
  });
}

bool is_failed_assert(const Graph& graph, BlockId block) {
  const ir::Block& b = graph[block];
  if (b.exit != ExitKind::Raise || b.items.empty()) return false;
  const ir::Value& first = graph[b.items[0]];
  return is_op(first, Op::LoadAssertionError) || (is_op(first, Op::LoadGlobal) && first.b == 1);
}

bool fails_assertion(const Graph& graph, BlockId block) {
  if (!block.valid() || graph[block].exit != ExitKind::Raise) return false;
  const auto& items = graph[block].items;
  return !items.empty() && is_op(graph[items[0]], Op::LoadAssertionError);
}

bool tests_case(const Graph& graph, BlockId block) {
  const auto& items = graph[block].items;
  return std::any_of(items.begin(), items.end(), [&](ValueId item) {
    const ir::Value& value = graph[item];
    return value.kind == ValueKind::Region && graph.regions[value.a].kind == RegionKind::Pattern;
  });
}

bool decides_case(const Graph& graph, BlockId block) {
  const ir::Value* value = &graph[graph.resolve(graph[block].operands[0])];
  while (value->kind == ValueKind::Region) {
    const RegionKind kind = graph.regions[value->a].kind;
    if (kind == RegionKind::Pattern) return true;
    // A guard is the operand after `and` (`or`, if it was negated).
    if (kind != RegionKind::And && kind != RegionKind::Or) return false;
    value = &graph[graph.resolve(graph.f.operands(*value)[0])];
  }
  return false;
}

bool is_next_case(const Graph& graph, BlockId block) {
  if (!block.valid()) return false;
  const ir::Block& b = graph[block];
  if (b.exit != ExitKind::Branch || b.items.empty()) return false;
  const ir::Value& value = graph[b.items[0]];
  return value.kind == ValueKind::Region && value.count == 0 &&
         graph.regions[value.a].kind == RegionKind::Pattern;
}

std::optional<LostPlan> lost_statement(const PlanContext& c, BlockId block, const Scope& scope) {
  const Graph& graph = c.graph;
  const bool returns = may_return(graph, c.module);
  const std::optional<LostPlan> a_return = returns ? std::optional(LostPlan{}) : std::nullopt;
  const ValueId lost = lost_jump(graph, block);
  if (!lost.valid()) {
    // Without markers: code that does not fall through to an overtaking `finally` body has jumped.
    const bool skips = !graph.f.marks_ends && graph[block].operands.empty() &&
                       scope.follow.valid() && skip_markers(c, scope.follow, scope) != block;
    return skips ? a_return : std::nullopt;
  }
  const ir::Value& marker = graph[lost];
  if (is_marker(marker, flow::Marker::LostReturn)) {
    const object::ConstId value(marker.b);
    return LostPlan{LostJump::Return, is_none(c, value) ? object::ConstId() : value};
  }
  // No trace is left of a loop without a back edge; a `return` leaves in the same way.
  if (!scope.loop) return a_return;
  const bool breaks = is_marker(marker, flow::Marker::LostBreak);
  return LostPlan{breaks ? LostJump::Break : LostJump::Continue, {}};
}

}  // namespace pellucid::structure
