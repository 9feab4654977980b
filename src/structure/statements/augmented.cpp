// SPDX-License-Identifier: Apache-2.0
// Augmented assignment to attributes and items: one load and one store that share their base.
#include <algorithm>

#include "base/check.h"
#include "structure/graph/not_structured.h"
#include "structure/statements/statements.h"

namespace pellucid::structure {

using ast::NodeId;

// Returns the index of the first item after items[i] that uses the value; their number if none
// does. The uses of all items are indexed together, since many values are looked up.
size_t Statements::next_use(std::span<const ValueId> items, size_t i, ValueId value) {
  if (uses_in_.data() != items.data() || uses_in_.size() != items.size()) {
    uses_in_ = items;
    uses_.clear();
    for (size_t k = 0; k < items.size(); ++k) {
      for (const ValueId operand : operands(items[k])) {
        uses_.emplace_back(c_.graph.resolve(operand), k);
      }
    }
    std::sort(uses_.begin(), uses_.end());
  }
  const auto next = std::lower_bound(uses_.begin(), uses_.end(), std::pair(value, i + 1));
  return next != uses_.end() && next->first == value ? next->second : items.size();
}

// At the load of `x.y` or `x[k]`: returns true if it is the first half of `x.y op= v`, whose store
// uses the same base once more.
bool Statements::augmented_load(std::span<const ValueId> items, size_t i) {
  Graph& g = c_.graph;
  const ValueId id = items[i];
  const ir::Value value = g[id];
  std::vector<ValueId> bases;
  for (const ValueId operand : operands(id)) bases.push_back(g.resolve(operand));
  const auto are_bases = [&](std::span<const ValueId> others) {
    return std::equal(bases.begin(), bases.end(), others.begin(),
                      [&](ValueId base, ValueId other) { return base == g.resolve(other); });
  };
  // A walrus around it is one more use.
  const Assignment* walrus = assignment_of(bases[0]);
  const size_t kept = walrus != nullptr ? walrus->targets.size() : 0;
  const bool is_slice = value.op == Op::BuildSlice;
  if (is_slice) {
    for (const ValueId base : bases) {
      if (g[base].uses != 2) return false;
    }
  } else if (g[bases[0]].uses != 2 + kept || g[id].uses != 1) {
    return false;
  }
  // Each base has one more use: the item that takes the first of them is the other half, or there
  // is none.
  const size_t other = next_use(items, i, bases[0]);
  if (other == items.size()) return false;
  const ir::Value& later = g[items[other]];
  if (later.kind != ValueKind::Instr) return false;
  if (is_slice) {
    // x[a:b] op= v builds the slice twice from the same bounds.
    const bool is_same = later.op == Op::BuildSlice && later.a == value.a;
    if (!is_same || !are_bases(operands(items[other]))) return false;
    use_once(bases);
    skipped_.insert(items[other]);
    g.set_uses(id, 2);  // stands for the second slice as well
    g.alias(items[other], id);
    return false;
  }
  const bool is_item = later.op == Op::StoreSubscr && value.op == Op::Subscr;
  const bool is_attribute =
      later.op == Op::StoreAttr && value.op != Op::Subscr && later.a == value.a;
  if (!is_item && !is_attribute) return false;
  const auto stored = operands(items[other]);
  const ValueId sum = g.resolve(stored[0]);
  const bool is_changed = is_op(g[sum], Op::Binary) && g[sum].b == 1 && g[sum].uses == 1 &&
                          g.resolve(operands(sum)[0]) == id;
  if (!is_changed || !are_bases(stored.subspan(1))) return false;
  use_once(bases);
  augmented_.insert(sum);
  const NodeId node = c_.expressions.make(value, take_many(bases));
  push(id, node, false);
  return true;
}

// Removes the use of the bases by the other half of an augmented assignment.
void Statements::use_once(const std::vector<ValueId>& bases) {
  for (Entry& entry : pending_) {
    if (std::find(bases.begin(), bases.end(), entry.value) != bases.end()) entry.uses_left = 1;
  }
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
