// SPDX-License-Identifier: Apache-2.0
#include "structure/graph/block_kinds.h"

#include <algorithm>

#include "structure/graph/items.h"

namespace pellucid::structure {

ValueId marker(Graph& graph, flow::Marker what) {
  ir::Value value;
  value.op = Op::Marker;
  value.a = static_cast<uint32_t>(what);
  return graph.add(value, {});
}

bool only_markers(const Graph& graph, const ir::Block& block) {
  return std::all_of(block.items.begin(), block.items.end(),
                     [&](ValueId item) { return only_leaves(graph[item]); });
}

bool has_marker(const Graph& graph, BlockId block, flow::Marker what) {
  const auto& items = graph[block].items;
  return std::any_of(items.begin(), items.end(),
                     [&](ValueId item) { return is_marker(graph[item], what); });
}

ValueId lost_jump(const Graph& graph, BlockId block) {
  if (!marks_jumps(graph)) return {};
  for (const ValueId item : graph[block].items) {
    const ir::Value& value = graph[item];
    if (is_marker(value, flow::Marker::LostBreak) || is_marker(value, flow::Marker::LostContinue) ||
        is_marker(value, flow::Marker::LostReturn)) {
      return item;
    }
  }
  return {};
}

bool cannot_raise(const Graph& graph, BlockId block, size_t from) {
  const auto& items = graph[block].items;
  return std::all_of(items.begin() + static_cast<ptrdiff_t>(from), items.end(), [&](ValueId item) {
    const ir::Value& value = graph[item];
    return value.kind == ValueKind::Instr &&
           (value.op == Op::LoadConst || is_leaving(value) || drops(value, ir::Dropped::Iterator) ||
            drops(value, ir::Dropped::Constant));
  });
}

bool only_returns(const Graph& graph, BlockId block, size_t from) {
  return graph[block].exit == ExitKind::Return && cannot_raise(graph, block, from);
}

bool returns_constant(const Graph& graph, BlockId id, size_t from) {
  const ir::Block& block = graph[id];
  return block.exit == ExitKind::Return && block.items.size() == from + 1 &&
         is_op(graph[block.items.back()], Op::LoadConst) &&
         graph.resolve(block.operands[0]) == block.items.back();
}

bool may_return(const Graph& graph, const object::Module& module) {
  return (module[graph.f.code].flags & object::kOptimized) != 0;
}

bool are_arms_of_choice(const Graph& g, BlockId x, BlockId y) {
  if (g.ways_into(x).size() != 1 || g.ways_into(y).size() != 1) return false;
  const BlockId from = g.ways_into(x).front().from;
  if (from != g.ways_into(y).front().from || g[from].exit != ExitKind::Branch) return false;
  const int32_t line = g[from].exit_line;
  // An arm that only returns a constant may be the end of the body.
  const auto starts_there = [&](BlockId arm) {
    const auto& items = g[arm].items;
    return !items.empty() && g[items[0]].line == line && !returns_constant(g, arm);
  };
  return line != bytecode::kNoLine && starts_there(x) && starts_there(y);
}

}  // namespace pellucid::structure
