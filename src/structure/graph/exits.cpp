// SPDX-License-Identifier: Apache-2.0
#include "structure/graph/exits.h"

#include <algorithm>

#include "structure/graph/items.h"

namespace pellucid::structure {

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

bool may_return(const Graph& graph, const object::Module& module) {
  return (module[graph.f.code].flags & object::kOptimized) != 0;
}

}  // namespace pellucid::structure
