// Augmented assignment to attributes and items: one load and one store that share their base.
#include <algorithm>

#include "base/check.h"
#include "structure/statements.h"

namespace pellucid::structure {

using ast::NodeId;

// At the load of `x.y` or `x[k]`: whether its base is used once more, by the store of `x.y op= v`.
bool Statements::augmented_load(std::span<const ValueId> items, size_t i) {
  Graph& g = c_.graph;
  const ValueId id = items[i];
  const ir::Value value = g[id];
  std::vector<ValueId> bases;
  for (const ValueId operand : operands(id)) bases.push_back(g.resolve(operand));
  // Each base has one more use: what takes the first of them is the other half, or there is none.
  const auto uses = [&](ValueId later) {
    const auto all = operands(later);
    return std::any_of(all.begin(), all.end(),
                       [&](ValueId operand) { return g.resolve(operand) == bases[0]; });
  };
  if (value.op == Op::BuildSlice) {
    // x[a:b] op= v builds the slice twice from the same bounds.
    for (const ValueId base : bases) {
      if (g[base].uses != 2) return false;
    }
    for (size_t k = i + 1; k < items.size(); ++k) {
      const ir::Value& later = g[items[k]];
      if (later.kind != ValueKind::Instr || later.op != Op::BuildSlice || later.a != value.a) {
        if (uses(items[k])) return false;
        continue;
      }
      bool same = true;
      for (size_t o = 0; o < bases.size(); ++o)
        same = same && g.resolve(operands(items[k])[o]) == bases[o];
      if (!same && uses(items[k])) return false;
      if (!same) continue;
      for (Entry& entry : pending_) {
        if (std::find(bases.begin(), bases.end(), entry.value) != bases.end()) entry.uses_left = 1;
      }
      skipped_.insert(items[k]);
      g[id].uses = 2;  // stands for the second slice as well
      g.alias(items[k], id);
      return false;
    }
    return false;
  }
  // A walrus around it is one more use.
  const Assignment* walrus = assignment_of(bases[0]);
  const size_t kept = walrus != nullptr ? walrus->targets.size() : 0;
  if (g[bases[0]].uses != 2 + kept || g[id].uses != 1) return false;
  for (size_t k = i + 1; k < items.size(); ++k) {
    const ir::Value& later = g[items[k]];
    const bool is_instr = later.kind == ValueKind::Instr;
    const bool attribute =
        is_instr && later.op == Op::StoreAttr && value.op != Op::Subscr && later.a == value.a;
    const bool item = is_instr && later.op == Op::StoreSubscr && value.op == Op::Subscr;
    if (!attribute && !item) {
      if (uses(items[k])) return false;
      continue;
    }
    const auto stored = operands(items[k]);
    bool same = true;
    for (size_t o = 0; o < bases.size(); ++o) same = same && g.resolve(stored[o + 1]) == bases[o];
    const ValueId sum = g.resolve(stored[0]);
    if (!same || g[sum].kind != ValueKind::Instr || g[sum].op != Op::Binary || g[sum].b != 1 ||
        g[sum].uses != 1 || g.resolve(operands(sum)[0]) != id) {
      if (uses(items[k])) return false;
      continue;
    }
    for (Entry& entry : pending_) {
      if (std::find(bases.begin(), bases.end(), entry.value) != bases.end()) entry.uses_left = 1;
    }
    augmented_.insert(sum);
    const NodeId node = c_.expressions.make(value, take_all(bases));
    push(id, node, false);
    return true;
  }
  return false;
}

bool Statements::augmented_store(ValueId id) {
  const ValueId sum = c_.graph.resolve(operands(id)[0]);
  const NodeId node = take_all(std::array<ValueId, 1>{sum})[0];
  if (!c_.tree.is(node, ast::Kind::BinOp)) {
    throw NotStructured("an augmented assignment of unknown form", c_.graph[id].offset);
  }
  const ast::BinOp both = c_.tree.as<ast::BinOp>(node);
  const NodeId right = hoist_literals(both.right);
  append(c_.tree.add(ast::AugAssign{both.left, both.op, right}, where(id)));
  return true;
}

}  // namespace pellucid::structure
