// SPDX-License-Identifier: Apache-2.0
#include "structure/reduce/folded_tests.h"

#include <algorithm>

#include "structure/graph/items.h"

namespace pellucid::structure {

using object::ConstId;
using object::ConstKind;

namespace {

class Unfolder {
 public:
  Unfolder(Graph& graph, const object::Module& module) : g_(graph), module_(module) {}

  // Replaces one element of a tested constant tuple by an empty f-string: a tuple around it is no
  // constant.
  void unfold(BlockId id, ValueId tested) {
    if (!is_op(g_[tested], Op::LoadConst)) return;
    const std::vector<ConstId>& items = module_[g_[tested].constant()].items;
    const auto empty =
        std::find_if(items.begin(), items.end(), [&](ConstId item) { return is_empty_text(item); });
    if (module_[g_[tested].constant()].kind != ConstKind::Tuple || empty == items.end()) return;
    auto& run = g_[id].items;
    const auto at = std::find(run.begin(), run.end(), tested);
    if (at == run.end()) return;
    std::vector<ValueId> parts;
    for (const ConstId item : items) {
      ir::Value part = g_[tested];
      part.uses = 1;
      part.op = item == *empty ? Op::BuildString : Op::LoadConst;
      part.a = item == *empty ? 0 : item.value;
      parts.push_back(g_.add(part, {}));
    }
    run.insert(at, parts.begin(), parts.end());
    ir::Value tuple = g_[tested];
    tuple.op = Op::BuildTuple;
    tuple.a = tuple.count = static_cast<uint32_t>(parts.size());
    tuple.first = static_cast<uint32_t>(g_.f.operand_pool.size());
    g_.f.operand_pool.insert(g_.f.operand_pool.end(), parts.begin(), parts.end());
    g_[tested] = tuple;
  }

  // Does the same to a set that `in` or a loop reads: of constants alone, it would be a constant.
  void unfold_set(ValueId user) {
    const bool looks = is_op(g_[user], Op::ContainsOp, Op::GetIter);
    if (!looks) return;
    const ValueId set = g_.resolve(g_.f.operands(user).back());
    if (!is_op(g_[set], Op::BuildSet)) return;
    ValueId empty;
    for (const ValueId element : g_.f.operands(set)) {
      const ValueId item = g_.resolve(element);
      if (!is_op(g_[item], Op::LoadConst)) return;
      if (!empty.valid() && is_empty_text(g_[item].constant())) empty = item;
    }
    if (!empty.valid()) return;
    g_[empty].op = Op::BuildString;
    g_[empty].a = 0;
  }

 private:
  bool is_empty_text(ConstId id) const {
    return module_[id].kind == ConstKind::Str && module_.text(module_[id].text).empty();
  }

  Graph& g_;
  const object::Module& module_;
};

}  // namespace

void unfold_tested(Graph& graph, const object::Module& module) {
  if (!graph.f.folds.tuples) return;
  Unfolder unfolder(graph, module);
  for (const BlockId id : graph.order()) {
    // By their places, since that adds values.
    for (size_t i = 0; i < graph[id].items.size(); ++i) unfolder.unfold_set(graph[id].items[i]);
    if (graph[id].exit == ir::ExitKind::Branch) {
      unfolder.unfold(id, graph.resolve(graph[id].operands[0]));
    }
  }
}

}  // namespace pellucid::structure
