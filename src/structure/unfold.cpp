#include "structure/unfold.h"

#include <algorithm>

#include "structure/ops.h"

namespace pellucid::structure {

using object::ConstId;
using object::ConstKind;

namespace {

class Unfolder {
 public:
  Unfolder(Graph& graph, const object::Module& module) : g_(graph), module_(module) {}

  // One f-string is enough: the tuple around it is no constant then.
  void unfold(BlockId id, ValueId tested) {
    if (!is_op(g_[tested], Op::LoadConst)) return;
    const std::vector<ConstId>& items = module_[g_[tested].constant()].items;
    const auto empty = std::find_if(items.begin(), items.end(), [&](ConstId item) {
      return module_[item].kind == ConstKind::Str && module_.text(module_[item].text).empty();
    });
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

 private:
  Graph& g_;
  const object::Module& module_;
};

}  // namespace

void unfold_tested(Graph& graph, const object::Module& module) {
  if (!graph.f.folds.tuples) return;
  Unfolder unfolder(graph, module);
  for (const BlockId id : graph.order()) {
    if (graph[id].exit == ir::ExitKind::Branch) {
      unfolder.unfold(id, graph.resolve(graph[id].operands[0]));
    }
  }
}

}  // namespace pellucid::structure
