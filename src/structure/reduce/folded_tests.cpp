// SPDX-License-Identifier: Apache-2.0
#include "structure/reduce/folded_tests.h"

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <vector>

#include "structure/graph/copies.h"
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
    const ConstId replaced = *empty;
    for (const ValueId part : take_apart(id, tested, items)) {
      if (g_[part].constant() == replaced) make_empty_string(part);
    }
  }

  // Makes a constant tuple of its items. Returns what loads these; none if the block does not load
  // the tuple.
  std::vector<ValueId> take_apart(BlockId id, ValueId constant, std::span<const ConstId> items) {
    auto& run = g_[id].items;
    const auto at = std::find(run.begin(), run.end(), constant);
    if (at == run.end()) return {};
    std::vector<ValueId> parts;
    for (const ConstId item : items) {
      ir::Value part = g_[constant];
      part.uses = 1;
      part.a = item.value;
      parts.push_back(g_.add(part, {}));
    }
    run.insert(at, parts.begin(), parts.end());
    ir::Value tuple = g_[constant];
    tuple.op = Op::BuildTuple;
    tuple.a = tuple.count = static_cast<uint32_t>(parts.size());
    tuple.first = static_cast<uint32_t>(g_.f.operand_pool.size());
    g_.f.operand_pool.insert(g_.f.operand_pool.end(), parts.begin(), parts.end());
    g_[constant] = tuple;
    return parts;
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
    if (empty.valid()) make_empty_string(empty);
  }

 private:
  void make_empty_string(ValueId value) {
    g_[value].op = Op::BuildString;
    g_[value].a = 0;
  }

  bool is_empty_text(ConstId id) const {
    return module_[id].kind == ConstKind::Str && module_.text(module_[id].text).empty();
  }

  Graph& g_;
  const object::Module& module_;
};

// Returns the returns and raises of each line; copies are close together.
std::map<std::array<uint32_t, 3>, std::vector<BlockId>> endings_by_line(const Graph& graph) {
  std::map<std::array<uint32_t, 3>, std::vector<BlockId>> found;
  for (const BlockId id : graph.order()) {
    const ir::Block& block = graph[id];
    if (block.exit != ir::ExitKind::Return && block.exit != ir::ExitKind::Raise) continue;
    found[{block.handler.value, static_cast<uint32_t>(block.exit),
           static_cast<uint32_t>(block.exit_line)}]
        .push_back(id);
  }
  return found;
}

// Returns the constants of which an item builds a tuple; none if there is another value.
std::vector<ConstId> constants_of(const Graph& graph, ValueId item) {
  std::vector<ConstId> found;
  if (!is_op(graph[item], Op::BuildTuple)) return found;
  for (const ValueId operand : graph.f.operands(item)) {
    const ir::Value& part = graph[graph.resolve(operand)];
    if (!is_op(part, Op::LoadConst)) return {};
    found.push_back(part.constant());
  }
  return found;
}

}  // namespace

void unfold_copies(Graph& graph, const object::Module& module) {
  if (!graph.f.folds.copies) return;
  Unfolder unfolder(graph, module);
  const auto is_same = [&](ConstId a, ConstId b) {
    return object::same_constant(module, a, module, b);
  };
  // Takes a tuple apart that differs in the first item: those before a choice are not loaded with
  // what is chosen.
  const auto take_apart = [&](BlockId id, ValueId copy, std::vector<ConstId> built) {
    if (!is_op(graph[copy], Op::LoadConst)) return;
    const object::Const& tuple = module[graph[copy].constant()];
    if (tuple.kind != ConstKind::Tuple || tuple.items.size() != built.size() ||
        !std::equal(built.begin() + 1, built.end(), tuple.items.begin() + 1, is_same)) {
      return;
    }
    built[0] = tuple.items[0];
    unfolder.take_apart(id, copy, built);
  };
  for (const auto& [line, endings] : endings_by_line(graph)) {
    for (size_t left = 0; left < endings.size(); ++left) {
      const auto& items = graph[endings[left]].items;
      for (size_t from_end = 1; from_end <= items.size(); ++from_end) {
        const std::vector<ConstId> built = constants_of(graph, items[items.size() - from_end]);
        if (built.empty()) continue;
        const size_t first = left - std::min(left, kFarthestCopy);
        const size_t last = std::min(left + kFarthestCopy, endings.size());
        for (size_t i = first; i < last; ++i) {
          const auto& others = graph[endings[i]].items;
          if (from_end > others.size()) continue;
          take_apart(endings[i], others[others.size() - from_end], built);
        }
      }
    }
  }
}

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
