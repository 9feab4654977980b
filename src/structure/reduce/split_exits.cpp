// SPDX-License-Identifier: Apache-2.0
#include "structure/reduce/split_exits.h"

#include "structure/graph/block_kinds.h"
#include "structure/graph/items.h"

namespace pellucid::structure {

namespace {

// Returns true if control jumps after item `i`: compiler_try_except ends each clause with a jump to
// what follows the statement. Only where the bytecode tells jump statements apart (3.8) is that not
// a `return` of the clause, whose code would come next (compiler_return).
bool jumps_after(const Graph& graph, BlockId block, size_t i) {
  constexpr uint32_t kNext = 4;  // an instruction and the prefix of the next one
  const auto& items = graph[block].items;
  const uint32_t here = graph[items[i]].offset;
  const bool is_last = i + 1 == items.size();
  const uint32_t next = is_last ? graph[block].exit_offset : graph[items[i + 1]].offset;
  return graph.f.marks_ends && (next < here || next > here + kNext) &&
         (is_last || !is_leaving(graph[items[i + 1]]));
}

void split_after_clauses(Graph& graph, const object::Module& module) {
  std::unordered_set<ValueId> star_ends;
  for (const HandlerInfo& info : graph.handlers) {
    if (info.kind == HandlerKind::ExceptStar) star_ends.insert(info.exit);
  }
  const size_t blocks = graph.size();
  for (const BlockId id : graph.order()) {  // which no split changes
    for (size_t i = graph[id].items.size(); i-- > 0;) {
      const ValueId item = graph[id].items[i];
      const ir::Value& value = graph[item];
      if (!is_op(value, Op::PopExcept) && !is_marker(value, flow::Marker::LeftByJump)) continue;
      if (star_ends.count(item) > 0 || jumps_after(graph, id, i) || !may_return(graph, module) ||
          !only_returns(graph, id, i + 1)) {
        graph.split(id, i + 1);
      }
    }
  }
  if (graph.size() != blocks) graph.recompute();
}

void split_after_loops(Graph& graph) {
  const size_t blocks = graph.size();
  for (BlockId block : graph.order()) {
    for (size_t i = 0; i < graph[block].items.size();) {
      const bool is_exit = drops(graph[graph[block].items[i++]], ir::Dropped::Iterator);
      if (is_exit) block = graph.split(block, std::exchange(i, 0));
    }
  }
  if (graph.size() != blocks) graph.recompute();
}

}  // namespace

void split_exits(Graph& graph, const object::Module& module) {
  split_after_clauses(graph, module);
  split_after_loops(graph);
}

}  // namespace pellucid::structure
