// SPDX-License-Identifier: Apache-2.0
// Stores: the forms of assignment, and the targets of loops and `with` statements.
#include <algorithm>
#include <array>

#include "ast/nodes.h"
#include "ast/walk.h"
#include "structure/graph/not_structured.h"
#include "structure/statements/hoisting.h"
#include "structure/statements/run.h"

namespace pellucid::structure {

using ast::NodeId;

namespace {

// Returns true if a value above the one at `index` already has targets.
bool is_assigned_above(const EvaluationStack& stack, size_t index) {
  const auto entries = stack.entries();
  for (size_t i = index + 1; i < entries.size() && !stack.targets().empty(); ++i) {
    if (stack.targets().of(entries[i].value) != nullptr) return true;
  }
  return false;
}

// Returns true if a value above the one at `index` is the result of a call.
bool has_called_above(const Run& r, size_t index) {
  const auto entries = r.stack.entries();
  for (size_t i = index + 1; i < entries.size(); ++i) {
    if (entries[i].reloadable) continue;
    const Op op = r.graph[entries[i].value].op;
    if (op == Op::Call || op == Op::CallKw || op == Op::CallEx) return true;
  }
  return false;
}

// Sets the target of a loop or a `with`, if this is its only use and the first action of the body.
// A store that comes later, on some paths only or again stays a store, of the fresh name that
// becomes the target; then returns false.
bool receives(Run& r, ValueId giver, ValueId value, NodeId target) {
  const bool is_first = giver == r.giver && r.list.empty() && r.stack.entries().empty();
  if (is_first && r.graph[value].uses == 1 && !r.context.materialized.count(value)) {
    r.context.targets[giver] = target;
    return true;
  }
  r.context.name_given(giver, value);
  return false;
}

// Returns true if the target is the entry of a name in `__annotations__`.
bool is_annotation(const ast::Tree& tree, NodeId target) {
  if (!tree.is(target, ast::Kind::Subscript)) return false;
  return is_name(tree, tree.as<ast::Subscript>(target).value, "__annotations__");
}

// Returns true if an expression has a tuple or an operation of constants that compilers would have
// folded, except in a walrus. Nested walruses are not searched.
bool is_left_unfolded(const ast::Tree& tree, NodeId root) {
  bool found = false;
  ast::walk(tree, std::array<NodeId, 1>{root}, [&](NodeId node) {
    const ast::Kind kind = tree.kind(node);
    const auto is_literal = [&](NodeId part) { return tree.is(part, ast::Kind::Constant); };
    if (kind == ast::Kind::Tuple) {
      const auto items = tree.items(tree.as<ast::Tuple>(node).elts);
      found = found || std::all_of(items.begin(), items.end(), is_literal);
    } else if (kind == ast::Kind::UnaryOp) {
      found = found || is_literal(tree.as<ast::UnaryOp>(node).operand);
    } else if (kind == ast::Kind::BinOp) {
      const auto binary = tree.as<ast::BinOp>(node);
      found = found || (is_literal(binary.left) && is_literal(binary.right));
    } else if (kind == ast::Kind::Subscript) {
      const auto item = tree.as<ast::Subscript>(node);
      found = found || (is_literal(item.value) && is_literal(item.slice));
    }
    return !found && kind != ast::Kind::NamedExpr;
  });
  return found;
}

// Appends the assignment of a value to a name if it is a definition or `x += v`; else returns
// false.
bool defined_or_augmented(Run& r, const ir::Value& source, NodeId node, NodeId target,
                          ast::Where at) {
  const Symbol symbol = r.tree.as<ast::Name>(target).id;
  const NodeId definition = r.context.expressions.have_function()
                                ? r.context.expressions.definition(node, symbol)
                                : NodeId();
  if (definition.valid()) {
    r.stack.protect(symbol);
    hoist_from_header(r.context, r.list, definition);
    append(r, definition);
    return true;
  }
  // x += v
  if (!is_op(source, Op::Binary) || source.b != 1 || !r.tree.is(node, ast::Kind::BinOp)) {
    return false;
  }
  const ast::BinOp sum = r.tree.as<ast::BinOp>(node);
  if (!is_name(r.tree, sum.left, symbol)) return false;
  const NodeId right = hoist_literals(r.context, r.list, sum.right);
  r.stack.protect(symbol);
  append(r, r.tree.add(ast::AugAssign{target, sum.op, right}, at));
  return true;
}

// Appends the assignment of a value to its last target and to those that it has already: `a = b =
// v`.
void assign_to_several(Run& r, ValueId value, NodeId target, ast::Where at) {
  const size_t place = r.stack.find(value);
  if (place < r.stack.entries().size()) r.stack.protect_targets(place);
  std::vector<NodeId> targets = r.stack.take_targets(value);
  targets.push_back(target);
  NodeId node = r.stack.take(value);
  node = hoist_literals(r.context, r.list, node);
  if (r.tree.is(target, ast::Kind::Name)) r.stack.protect(r.tree.as<ast::Name>(target).id);
  if (!r.graph.f.is_generated) {
    const auto other = std::find_if_not(targets.begin(), targets.end() - 1, [&](NodeId each) {
      return r.tree.is(each, ast::Kind::Name);
    });
    const bool only_names = other == targets.end() - 1;
    // `x: (y := v)`, or a value that a compiler would have folded outside of a walrus.
    if (is_annotation(r.tree, target)
            ? only_names
            : !r.graph.f.folds.walruses && is_left_unfolded(r.tree, node)) {
      for (auto name = targets.begin(); name != other; ++name) {
        node = r.tree.add(ast::NamedExpr{*name, node}, at);
      }
      targets.erase(targets.begin(), other);
    }
  }
  append(r, r.tree.add(ast::Assign{r.tree.list(targets), node}, at));
}

// Appends the assignment of a value to its last target, in the form that the source had: a
// definition, `x += v`, `a = b = v`.
void assign(Run& r, ValueId value, NodeId target, ast::Where at) {
  if (r.stack.targets().of(value) != nullptr) return assign_to_several(r, value, target, at);
  NodeId node = r.stack.take(value);
  const bool has_name = r.tree.is(target, ast::Kind::Name);
  if (has_name && defined_or_augmented(r, r.graph[value], node, target, at)) return;
  node = hoist_literals(r.context, r.list, node);
  if (has_name) r.stack.protect(r.tree.as<ast::Name>(target).id);
  append(r, r.tree.add(ast::Assign{r.tree.list({target}), node}, at));
}

}  // namespace

bool is_store(const ir::Value& value) {
  switch (value.op) {
    case Op::StoreFast:
    case Op::StoreName:
    case Op::StoreGlobal:
    case Op::StoreDeref:
    case Op::StoreAttr:
    case Op::StoreSubscr:
      return value.kind == ValueKind::Instr;
    default:
      return false;
  }
}

std::vector<Symbol> names_in(const ast::Tree& tree, NodeId target) {
  std::vector<Symbol> found;
  std::vector<NodeId> todo{target};
  while (!todo.empty()) {
    const NodeId node = todo.back();
    todo.pop_back();
    if (tree.is(node, ast::Kind::Tuple)) {
      const auto parts = tree.items(tree.as<ast::Tuple>(node).elts);
      todo.insert(todo.end(), parts.begin(), parts.end());
    } else if (tree.is(node, ast::Kind::Starred)) {
      todo.push_back(tree.as<ast::Starred>(node).value);
    } else if (tree.is(node, ast::Kind::Name)) {
      found.push_back(tree.as<ast::Name>(node).id);
    }
  }
  return found;
}

ValueId entered(const Run& r, ValueId id) {
  for (;;) {
    const ir::Value& value = r.graph[id];
    const bool is_awaited = is_op(value, Op::YieldFrom, Op::GetAwaitable);
    if (value.kind != ValueKind::Element && !is_awaited) return {};
    id = r.operand(id, 0);
    if (value.kind != ValueKind::Element) continue;
    const ir::Value& manager = r.graph[id];
    const bool is_manager = is_op(manager, Op::BeforeWith, Op::BeforeAsyncWith);
    return is_manager ? id : ValueId();
  }
}

void store(Run& r, Items items, size_t i) {
  const ValueId id = items[i];
  const ir::Value value = r.graph[id];
  const ValueId stored = r.operand(id, 0);
  if (r.known().augmented.changed.count(stored)) return augmented_store(r, id);
  if (value.op != Op::StoreAttr && value.op != Op::StoreSubscr) {
    if (r.graph[stored].kind == ValueKind::Exception) {
      if (!r.list.empty() || r.caught.valid()) {
        throw NotStructured("an exception that is stored in the middle of a clause", value.offset);
      }
      r.caught = value.symbol();
      return;
    }
    if (r.graph[stored].kind == ValueKind::Instr && stored_import(r, stored, value.symbol()))
      return;
    return deliver(r, items, i, stored, r.name(value.symbol(), r.where(id)));
  }
  const std::vector<NodeId> nodes = take_many(r, r.operands(id).subspan(1));
  NodeId target;
  if (value.op == Op::StoreAttr) {
    target = r.tree.add(ast::Attribute{nodes[0], value.symbol()}, r.where(id));
  } else {
    target = r.tree.add(ast::Subscript{nodes[0], nodes[1]}, r.where(id));
  }
  deliver(r, items, i, stored, target);
}

void deliver(Run& r, Items items, size_t i, ValueId value, NodeId target) {
  const ast::Where at = r.where(items[i]);
  const Unpacking* outermost = nullptr;
  for (;;) {
    const auto& slots = r.known().unpackings.slots;
    const auto found = slots.find(value);
    if (found == slots.end()) break;
    const Unpackings::Slot slot = found->second;
    Unpacking& unpacking = r.forms().unpackings.all[slot.unpacking];
    check_unpacked(r, unpacking, target);
    unpacking.slots[slot.index] =
        slot.index == unpacking.star ? r.tree.add(ast::Starred{target}, at) : target;
    if (++unpacking.filled < unpacking.slots.size()) return;
    target = r.tree.add(ast::Tuple{r.tree.list(unpacking.slots)}, at);
    value = unpacking.value;
    outermost = &unpacking;
  }
  const ir::Value& source = r.graph[value];
  const ValueId giver = source.kind == ValueKind::Item ? value : entered(r, value);
  if (giver.valid() && receives(r, giver, value, target)) return;
  if (deliver_to_group(r, value, target, at)) return;
  if (start_group(r, items, i, value)) {
    deliver_to_group(r, value, target, at);
    return;
  }
  if (outermost != nullptr) protect_unpacked(r, *outermost, target);
  // A value above that has targets was stored first, and a call above must not see the cell: both
  // are spilled before this store.
  const bool is_cell = r.graph[items[i]].op == Op::StoreDeref;
  const size_t place = r.stack.find(value);
  if (is_assigned_above(r.stack, place) || (is_cell && has_called_above(r, place))) {
    r.stack.spill_all();
  }
  const size_t entry = r.stack.find(value);
  const bool is_pending = entry < r.stack.entries().size() && !r.context.materialized.count(value);
  if (!is_pending || r.stack.entries()[entry].uses_left <= 1) return assign(r, value, target, at);
  // The loads since this value must not see the store, wherever that is placed.
  if (r.tree.is(target, ast::Kind::Name)) {
    r.stack.protect(r.tree.as<ast::Name>(target).id, entry + 1);
  }
  // Used again: another target of the chain, or a walrus.
  r.stack.add_target(entry, target);
}

}  // namespace pellucid::structure
