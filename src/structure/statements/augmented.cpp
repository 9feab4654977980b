// SPDX-License-Identifier: Apache-2.0
// Augmented assignment to attributes and items: one load and one store that share their base.
#include <algorithm>
#include <array>

#include "ast/nodes.h"
#include "structure/graph/not_structured.h"
#include "structure/graph/uses.h"
#include "structure/statements/hoisting.h"
#include "structure/statements/run.h"

namespace pellucid::structure {

using ast::NodeId;

namespace {

// Returns the index of the first item after items[i] that uses the value; their number if none
// does. The uses of all items are indexed together, since many values are looked up.
size_t next_use(Run& r, Items items, size_t i, ValueId value) {
  auto& [changed, indexed, uses] = r.forms().augmented;
  if (indexed.data() != items.data() || indexed.size() != items.size()) {
    indexed = items;
    uses.clear();
    for (size_t k = 0; k < items.size(); ++k) {
      for (const ValueId operand : r.operands(items[k])) {
        uses.emplace_back(r.graph.resolve(operand), k);
      }
    }
    std::sort(uses.begin(), uses.end());
  }
  const auto next = std::lower_bound(uses.begin(), uses.end(), std::pair(value, i + 1));
  return next != uses.end() && next->first == value ? next->second : items.size();
}

}  // namespace

bool augmented_load(Run& r, Items items, size_t i) {
  Graph& g = r.graph;
  const ValueId id = items[i];
  const ir::Value value = g[id];
  const ValueId first = r.operand(id, 0);
  // A walrus around it is one more use.
  const std::vector<NodeId>* walrus = r.stack.targets().of(first);
  const size_t kept = walrus != nullptr ? walrus->size() : 0;
  const bool is_slice = value.op == Op::BuildSlice;
  if (!is_slice && (g[first].uses != 2 + kept || value.uses != 1)) return false;
  const std::vector<ValueId> bases = resolved(g, r.operands(id));
  const auto are_bases = [&](std::span<const ValueId> others) {
    return std::equal(bases.begin(), bases.end(), others.begin(),
                      [&](ValueId base, ValueId other) { return base == g.resolve(other); });
  };
  if (is_slice) {
    for (const ValueId base : bases) {
      if (g[base].uses != 2) return false;
    }
  }
  // Each base has one more use: the item that takes the first of them is the other half, or there
  // is none.
  const size_t other = next_use(r, items, i, bases[0]);
  if (other == items.size()) return false;
  const ir::Value& later = g[items[other]];
  if (later.kind != ValueKind::Instr) return false;
  if (is_slice) {
    // x[a:b] op= v builds the slice twice from the same bounds.
    const bool is_same = later.op == Op::BuildSlice && later.a == value.a;
    if (!is_same || !are_bases(r.operands(items[other]))) return false;
    r.stack.use_once(bases);
    r.forms().skipped.insert(items[other]);
    set_uses(g, id, 2);  // stands for the second slice as well
    g.alias(items[other], id);
    return false;
  }
  const bool is_item = later.op == Op::StoreSubscr && value.op == Op::Subscr;
  const bool is_attribute =
      later.op == Op::StoreAttr && value.op != Op::Subscr && later.a == value.a;
  if (!is_item && !is_attribute) return false;
  const auto stored = r.operands(items[other]);
  const ValueId sum = g.resolve(stored[0]);
  const bool is_changed =
      is_op(g[sum], Op::Binary) && g[sum].b == 1 && g[sum].uses == 1 && r.operand(sum, 0) == id;
  if (!is_changed || !are_bases(stored.subspan(1))) return false;
  r.stack.use_once(bases);
  r.forms().augmented.changed.insert(sum);
  const NodeId node = r.context.expressions.make(value, take_many(r, bases));
  r.stack.push(id, node, false);
  return true;
}

void augmented_store(Run& r, ValueId id) {
  const ValueId sum = r.operand(id, 0);
  const NodeId node = r.stack.take(sum);
  if (!r.tree.is(node, ast::Kind::BinOp)) {
    throw NotStructured("an augmented assignment of unknown form", r.graph[id].offset);
  }
  const ast::BinOp both = r.tree.as<ast::BinOp>(node);
  const NodeId right = hoist_literals(r.context, r.list, both.right);
  append(r, r.tree.add(ast::AugAssign{both.left, both.op, right}, r.where(id)));
}

}  // namespace pellucid::structure
