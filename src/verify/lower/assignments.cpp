// SPDX-License-Identifier: Apache-2.0
// Assignments: to a target, in place, with an annotation; deletions.
#include "ast/lines.h"
#include "verify/lower/compiler.h"

namespace pellucid::verify::lower {

// Assigns the value on the stack to `target`.
void Compiler::assign(NodeId target) {
  switch (tree_.kind(target)) {
    case Kind::Name:
      return name(tree_.as<ast::Name>(target).id, Use::Store);
    case Kind::Attribute: {
      const auto attribute = tree_.as<ast::Attribute>(target);
      note_attribute(attribute);
      expression(attribute.value);
      return emit().op(Op::StoreAttr, mangled(attribute.attr).value);
    }
    case Kind::Subscript: {
      const auto item = tree_.as<ast::Subscript>(target);
      expression(item.value);
      expression(item.slice);
      return emit().op(Op::StoreSubscr);
    }
    case Kind::Starred:
      return assign(tree_.as<ast::Starred>(target).value);
    case Kind::Tuple: {
      const auto targets = tree_.items(tree_.as<ast::Tuple>(target).elts);
      return assign_elements(
          targets, features_.drops_overwritten_stores && ast::stores_twice(tree_, targets));
    }
    case Kind::List:
      return assign_elements(tree_.items(tree_.as<ast::List>(target).elts));
    default:  // NOLINT: no targets
      give_up(std::string("assignment to ") + ast::name_of(tree_.kind(target)) + " not supported");
  }
}

// Assigns two or three values straight from the stack (3.11+); returns false if that does not
// apply.
bool Compiler::assign_in_parallel(NodeId target, NodeId value, bool keeps_order) {
  if (!features_.assigns_in_parallel || !tree_.is(value, Kind::Tuple) ||
      !(tree_.is(target, Kind::Tuple) || tree_.is(target, Kind::List)) ||
      (!features_.folds_late && constant_of(value))) {
    return false;
  }
  const auto values = tree_.items(tree_.as<ast::Tuple>(value).elts);
  const auto names = tree_.items(ListId(tree_.slot(target, 0)));
  if (values.size() != names.size() || values.size() < 2 || values.size() > 3) return false;
  for (size_t i = 0; i < names.size(); ++i) {
    if (tree_.is(names[i], Kind::Starred) || tree_.is(values[i], Kind::Starred)) return false;
  }
  expressions(values);
  emit().op(Op::Swap, static_cast<uint32_t>(values.size()));
  const bool stores_twice = features_.drops_overwritten_stores && tree_.is(target, Kind::Tuple) &&
                            ast::stores_twice(tree_, names);
  assign_each(names, keeps_order || stores_twice);
  return true;
}

// `apart`: each target begins a line, except the second of two stores that are one (is_one_store).
void Compiler::assign_each(std::span<const NodeId> targets, bool apart) {
  for (size_t i = 0; i < targets.size(); ++i) {
    const bool stays = i == 0 || (features_.drops_overwritten_stores &&
                                  ast::is_one_store(tree_, targets[i - 1], targets[i]));
    if (apart && !stays) emit().next_line();
    assign(targets[i]);
  }
}

void Compiler::assign_elements(std::span<const NodeId> targets, bool apart) {
  const auto count = static_cast<uint32_t>(targets.size());
  uint32_t star = count;
  for (uint32_t i = 0; i < count; ++i) {
    if (tree_.is(targets[i], Kind::Starred)) star = i;
  }
  if (star < count) {
    emit().op(Op::UnpackEx, star, count - star - 1);
  } else {
    emit().op(Op::UnpackSequence, count);
  }
  assign_each(targets, apart);
}

void Compiler::erase(NodeId target) {
  switch (tree_.kind(target)) {
    case Kind::Name:
      return name(tree_.as<ast::Name>(target).id, Use::Delete);
    case Kind::Attribute: {
      const auto attribute = tree_.as<ast::Attribute>(target);
      expression(attribute.value);
      return emit().op(Op::DeleteAttr, mangled(attribute.attr).value);
    }
    case Kind::Subscript: {
      const auto item = tree_.as<ast::Subscript>(target);
      expression(item.value);
      expression(item.slice);
      return emit().op(Op::DeleteSubscr);
    }
    case Kind::Tuple:
      for (NodeId part : tree_.items(tree_.as<ast::Tuple>(target).elts)) erase(part);
      return;
    case Kind::List:
      for (NodeId part : tree_.items(tree_.as<ast::List>(target).elts)) erase(part);
      return;
    default:  // NOLINT: no targets
      give_up(std::string("deletion of ") + ast::name_of(tree_.kind(target)) + " not supported");
  }
}

void Compiler::augmented(const ast::AugAssign& node) {
  const auto operate = [&] {
    expression(node.value);
    emit().op(Op::Binary, node.op, 1);
  };
  switch (tree_.kind(node.target)) {
    case Kind::Name: {
      const Symbol id = tree_.as<ast::Name>(node.target).id;
      name(id, Use::Load);
      operate();
      return name(id, Use::Store);
    }
    case Kind::Attribute: {
      const auto attribute = tree_.as<ast::Attribute>(node.target);
      const uint32_t attr = mangled(attribute.attr).value;
      expression(attribute.value);
      emit().op(Op::Copy, 1);
      emit().op(Op::LoadAttr, attr);
      operate();
      emit().op(Op::Swap, 2);
      return emit().op(Op::StoreAttr, attr);
    }
    case Kind::Subscript: {
      const auto item = tree_.as<ast::Subscript>(node.target);
      expression(item.value);
      const bool is_slice = tree_.is(item.slice, Kind::Slice);
      // 3.12+ builds the slice twice; a constant one only up to 3.13.
      const bool is_constant =
          is_slice && features_.constant_slices && constant_slice(tree_.as<ast::Slice>(item.slice));
      if (features_.slice_instructions && is_slice && !is_constant &&
          !tree_.as<ast::Slice>(item.slice).step.valid()) {
        const auto slice = tree_.as<ast::Slice>(item.slice);
        expression_or_none(slice.lower);
        expression_or_none(slice.upper);
        for (int i = 0; i < 3; ++i) emit().op(Op::Copy, 3);
        emit().op(Op::BuildSlice, 2);
        emit().op(Op::Subscr);
        operate();
        emit().op(Op::Rot, 4);
        emit().op(Op::BuildSlice, 2);
        return emit().op(Op::StoreSubscr);
      }
      expression(item.slice);
      emit().op(Op::Copy, 2);
      emit().op(Op::Copy, 2);
      emit().op(Op::Subscr);
      operate();
      emit().op(Op::Rot, 3);
      return emit().op(Op::StoreSubscr);
    }
    default:  // NOLINT: no targets
      give_up("augmented assignment to this not supported");
  }
}

// Records an attribute that a method sets on `self`, which its class lists since 3.13.
void Compiler::note_attribute(const ast::Attribute& target) {
  if (!tree_.is(target.value, Kind::Name)) return;
  if (tree_.text(tree_.as<ast::Name>(target.value).id) != "self") return;
  for (size_t i = units_.size() - 1; i-- > 0;) {
    if (symbols_[units_[i]->scope].kind != ScopeKind::Class) continue;
    units_[i]->attributes.insert(std::string(tree_.text(target.attr)));
    return;
  }
}

}  // namespace pellucid::verify::lower
