// SPDX-License-Identifier: Apache-2.0
#include "verify/lower/assignments.h"

#include <span>
#include <string>

#include "ast/lines.h"
#include "verify/lower/expressions.h"
#include "verify/lower/folding.h"
#include "verify/lower/names.h"

namespace pellucid::verify::lower {

namespace {

// Records an attribute that a method sets on `self`, which its class lists since 3.13.
void note_attribute(Unit& unit, const ast::Attribute& target) {
  if (!unit.tree.is(target.value, Kind::Name)) return;
  if (unit.tree.text(unit.tree.as<ast::Name>(target.value).id) != "self") return;
  Unit* around = unit.outer;
  while (around != nullptr && around->scope.kind != ScopeKind::Class) around = around->outer;
  if (around != nullptr) around->attributes.insert(std::string(unit.tree.text(target.attr)));
}

// Assigns the values on the stack to the targets. `apart`: each target begins a line, except the
// second of two stores that are one (is_one_store).
void assign_each(Unit& unit, std::span<const NodeId> targets, bool apart) {
  for (size_t i = 0; i < targets.size(); ++i) {
    const bool stays = i == 0 || (unit.features.drops_overwritten_stores &&
                                  ast::is_one_store(unit.tree, targets[i - 1], targets[i]));
    if (apart && !stays) unit.emit.lines.next();
    assign(unit, targets[i]);
  }
}

// Unpacks the value on the stack to the targets.
void assign_elements(Unit& unit, std::span<const NodeId> targets, bool apart = false) {
  const auto count = static_cast<uint32_t>(targets.size());
  uint32_t star = count;
  for (uint32_t i = 0; i < count; ++i) {
    if (unit.tree.is(targets[i], Kind::Starred)) star = i;
  }
  if (star < count) {
    unit.emit.op(Op::UnpackEx, star, count - star - 1);
  } else {
    unit.emit.op(Op::UnpackSequence, count);
  }
  assign_each(unit, targets, apart);
}

}  // namespace

void move_down(Unit& unit, uint32_t depth) {
  if (!unit.features.swaps) return unit.emit.op(Op::Rot, depth);
  for (; depth >= 2; --depth) unit.emit.op(Op::Swap, depth);
}

void assignment(Unit& unit, const ast::Assign& node) {
  const auto targets = unit.tree.items(node.targets);
  const Breaks breaks = {.before_values = unit.features.targets_have_lines &&
                                          ast::starts_after_prefix(unit.tree, node),
                         .between_targets = ast::keeps_order(unit.tree, node)};
  if (targets.size() == 1 && assign_in_parallel(unit, targets[0], node.value, breaks)) return;
  expression(unit, node.value);
  if (breaks.before_values) unit.emit.lines.next();
  for (size_t i = 0; i < targets.size(); ++i) {
    if (i + 1 < targets.size()) unit.emit.op(Op::Copy, 1);
    assign(unit, targets[i]);
  }
}

void augmented_assignment(Unit& unit, const ast::AugAssign& node) {
  const auto operate = [&] {
    expression(unit, node.value);
    unit.emit.op(Op::Binary, node.op, 1);
  };
  switch (unit.tree.kind(node.target)) {
    case Kind::Name: {
      const Symbol id = unit.tree.as<ast::Name>(node.target).id;
      load_name(unit, id);
      operate();
      return store_name(unit, id);
    }
    case Kind::Attribute: {
      const auto attribute = unit.tree.as<ast::Attribute>(node.target);
      const uint32_t attr = unit.mangled(attribute.attr).value;
      expression(unit, attribute.value);
      unit.emit.op(Op::Copy, 1);
      unit.emit.op(Op::LoadAttr, attr);
      operate();
      unit.emit.op(Op::Swap, 2);
      return unit.emit.op(Op::StoreAttr, attr);
    }
    case Kind::Subscript: {
      const auto item = unit.tree.as<ast::Subscript>(node.target);
      expression(unit, item.value);
      const bool is_slice = unit.tree.is(item.slice, Kind::Slice);
      // 3.12+ builds the slice twice; a constant one only up to 3.13.
      const bool is_constant = is_slice && unit.features.constant_slices &&
                               constant_slice(unit, unit.tree.as<ast::Slice>(item.slice));
      if (unit.features.slice_instructions && is_slice && !is_constant &&
          !unit.tree.as<ast::Slice>(item.slice).step.valid()) {
        const auto slice = unit.tree.as<ast::Slice>(item.slice);
        expression_or_none(unit, slice.lower);
        expression_or_none(unit, slice.upper);
        for (int i = 0; i < 3; ++i) unit.emit.op(Op::Copy, 3);
        unit.emit.op(Op::BuildSlice, 2);
        unit.emit.op(Op::Subscr);
        operate();
        move_down(unit, 4);
        unit.emit.op(Op::BuildSlice, 2);
        return unit.emit.op(Op::StoreSubscr);
      }
      expression(unit, item.slice);
      unit.emit.op(Op::Copy, 2);
      unit.emit.op(Op::Copy, 2);
      unit.emit.op(Op::Subscr);
      operate();
      move_down(unit, 3);
      return unit.emit.op(Op::StoreSubscr);
    }
    default:  // NOLINT: no targets
      give_up("augmented assignment to this not supported");
  }
}

void delete_target(Unit& unit, NodeId target) {
  switch (unit.tree.kind(target)) {
    case Kind::Name:
      return delete_name(unit, unit.tree.as<ast::Name>(target).id);
    case Kind::Attribute: {
      const auto attribute = unit.tree.as<ast::Attribute>(target);
      expression(unit, attribute.value);
      return unit.emit.op(Op::DeleteAttr, unit.mangled(attribute.attr).value);
    }
    case Kind::Subscript: {
      const auto item = unit.tree.as<ast::Subscript>(target);
      expression(unit, item.value);
      expression(unit, item.slice);
      return unit.emit.op(Op::DeleteSubscr);
    }
    case Kind::Tuple:
    case Kind::List:
      for (NodeId part : unit.tree.items(ListId(unit.tree.slot(target, 0)))) {
        delete_target(unit, part);
      }
      return;
    default:  // NOLINT: no targets
      give_up(std::string("deletion of ") + ast::name_of(unit.tree.kind(target)) +
              " not supported");
  }
}

void assign(Unit& unit, NodeId target) {
  switch (unit.tree.kind(target)) {
    case Kind::Name:
      return store_name(unit, unit.tree.as<ast::Name>(target).id);
    case Kind::Attribute: {
      const auto attribute = unit.tree.as<ast::Attribute>(target);
      note_attribute(unit, attribute);
      expression(unit, attribute.value);
      return unit.emit.op(Op::StoreAttr, unit.mangled(attribute.attr).value);
    }
    case Kind::Subscript: {
      const auto item = unit.tree.as<ast::Subscript>(target);
      expression(unit, item.value);
      expression(unit, item.slice);
      return unit.emit.op(Op::StoreSubscr);
    }
    case Kind::Starred:
      return assign(unit, unit.tree.as<ast::Starred>(target).value);
    case Kind::Tuple: {
      const auto targets = unit.tree.items(unit.tree.as<ast::Tuple>(target).elts);
      return assign_elements(
          unit, targets,
          unit.features.drops_overwritten_stores && ast::stores_twice(unit.tree, targets));
    }
    case Kind::List:
      return assign_elements(unit, unit.tree.items(unit.tree.as<ast::List>(target).elts));
    default:  // NOLINT: no targets
      give_up(std::string("assignment to ") + ast::name_of(unit.tree.kind(target)) +
              " not supported");
  }
}

bool assign_in_parallel(Unit& unit, NodeId target, NodeId value, Breaks breaks) {
  if (!unit.features.assigns_in_parallel || !unit.tree.is(value, Kind::Tuple) ||
      !(unit.tree.is(target, Kind::Tuple) || unit.tree.is(target, Kind::List)) ||
      (!unit.features.folds_late && constant_of(unit, value))) {
    return false;
  }
  const auto values = unit.tree.items(unit.tree.as<ast::Tuple>(value).elts);
  const auto names = unit.tree.items(ListId(unit.tree.slot(target, 0)));
  if (values.size() != names.size() || values.size() < 2 || values.size() > 3) return false;
  for (size_t i = 0; i < names.size(); ++i) {
    if (unit.tree.is(names[i], Kind::Starred) || unit.tree.is(values[i], Kind::Starred))
      return false;
  }
  expressions(unit, values);
  if (breaks.before_values) unit.emit.lines.next();
  unit.emit.op(Op::Swap, static_cast<uint32_t>(values.size()));
  const bool stores_twice = unit.features.drops_overwritten_stores &&
                            unit.tree.is(target, Kind::Tuple) &&
                            ast::stores_twice(unit.tree, names);
  assign_each(unit, names, breaks.between_targets || stores_twice);
  return true;
}

}  // namespace pellucid::verify::lower
