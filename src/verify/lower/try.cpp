// SPDX-License-Identifier: Apache-2.0
#include "verify/lower/try.h"

#include "verify/lower/expressions.h"
#include "verify/lower/names.h"
#include "verify/lower/statements.h"

namespace pellucid::verify::lower {

namespace {

// Compiles the body, and the `else` if it comes next; they continue at `after`. Then comes the
// handler of the body.
void protected_body(Unit& unit, const ast::Try& node, Label after) {
  const Label failed = unit.emit.label();
  unit.emit.protect(failed, false);
  unit.enclosing.push_back({.kind = Enclosing::kTryExcept});
  statements(unit, node.body);
  unit.enclosing.pop_back();
  unit.emit.unprotect();
  if (unit.features.else_before_handlers) statements(unit, node.orelse);
  unit.emit.jump(after);
  unit.emit.place_handler(failed);
  push_exception(unit);
}

// Lowers an `except` clause, which continues at `end`.
void clause(Unit& unit, NodeId node, Label end) {
  const auto handler = unit.tree.as<ast::ExceptHandler>(node);
  const Label next = unit.emit.label();
  const Position before = unit.emit.here();
  if (handler.type.valid()) {
    if (unit.features.exceptions_are_one_value) {
      expression(unit, handler.type);
      unit.emit.op(Op::Copy, 2);
      unit.emit.op(Op::Swap, 2);
    } else {
      unit.emit.op(Op::Copy, 1);
      expression(unit, handler.type);
    }
    unit.emit.op(Op::ExcMatch);
    unit.emit.branch(false, next);
  }
  const uint32_t slots = unit.features.exception_slots();
  if (!unit.features.exceptions_are_one_value) unit.emit.op(Op::Pop);
  if (handler.name.valid()) {
    store_name(unit, handler.name);
  } else {
    unit.emit.op(Op::Pop);
  }
  if (!unit.features.exceptions_are_one_value) unit.emit.op(Op::Pop);
  const bool named = handler.name.valid();
  const Label cleanup = unit.emit.label();
  if (named) unit.emit.protect(cleanup, true);
  unit.enclosing.push_back({.kind = Enclosing::kHandler, .name = handler.name, .named = named});
  statements(unit, handler.body);
  unit.enclosing.pop_back();
  if (named) unit.emit.unprotect();
  if (named && !unit.features.unbinds_after_handling) unbind(unit, handler.name);
  unit.emit.op(Op::PopExcept, slots);
  if (named && unit.features.unbinds_after_handling) unbind(unit, handler.name);
  unit.emit.jump(end);
  if (named) {
    unit.emit.place_handler(cleanup);
    unbind(unit, handler.name);
    unit.emit.reraise(true);
  }
  unit.emit.back_to(before);
  unit.emit.place(next);
}

void try_except(Unit& unit, const ast::Try& node) {
  const Label end = unit.emit.label();
  const Label orelse = unit.features.else_before_handlers ? end : unit.emit.label();
  protected_body(unit, node, orelse);
  for (NodeId handler : unit.tree.items(node.handlers)) clause(unit, handler, end);
  unit.emit.reraise(false);
  if (!unit.features.else_before_handlers) {
    unit.emit.place(orelse);
    statements(unit, node.orelse);
  }
  unit.emit.place(end);
}

// Lowers an `except*` clause.
void star_clause(Unit& unit, NodeId node) {
  const auto handler = unit.tree.as<ast::ExceptHandler>(node);
  const Label none = unit.emit.label();
  const Label next = unit.emit.label();
  const Label cleanup = unit.emit.label();
  const bool named = handler.name.valid();
  if (!handler.type.valid()) give_up("except* without a type");
  expression(unit, handler.type);
  unit.emit.op(Op::EgMatch);
  unit.emit.op(Op::Copy, 1);
  unit.emit.branch_none(true, none);
  if (named) {
    store_name(unit, handler.name);
  } else {
    unit.emit.op(Op::Pop);
  }
  unit.emit.protect(cleanup, true);
  unit.enclosing.push_back({.kind = Enclosing::kStarHandler});
  statements(unit, handler.body);
  unit.enclosing.pop_back();
  unit.emit.unprotect();
  if (named) unbind(unit, handler.name);
  unit.emit.jump(next);
  unit.emit.place_handler(cleanup);
  if (named) unbind(unit, handler.name);
  unit.emit.op(Op::ListAppend, 3);
  unit.emit.op(Op::Pop);
  unit.emit.jump(next);
  unit.emit.place(none);
  unit.emit.op(Op::Pop);
  unit.emit.place(next);
}

// Lowers except*: each clause takes the exceptions it matches out of a group; those raised by
// clauses and those left unmatched are collected in a list and reraised together.
void try_star(Unit& unit, const ast::Try& node) {
  const Label end = unit.emit.label();
  protected_body(unit, node, end);
  unit.emit.op(Op::BuildList, 0);
  unit.emit.op(Op::Copy, 2);
  for (NodeId handler : unit.tree.items(node.handlers)) star_clause(unit, handler);
  const Label reraise = unit.emit.label();
  unit.emit.op(Op::ListAppend, 1);
  unit.emit.op(Op::Intrinsic2, bytecode::kPrepReraiseStar);
  unit.emit.op(Op::Copy, 1);
  unit.emit.branch_none(false, reraise);
  unit.emit.op(Op::Pop);
  unit.emit.op(Op::PopExcept, 1);
  unit.emit.jump(end);
  unit.emit.place(reraise);
  unit.emit.op(Op::Swap, 2);
  unit.emit.op(Op::PopExcept, 1);
  unit.emit.reraise(false);
  unit.emit.place(end);
}

void try_finally(Unit& unit, const ast::Try& node) {
  if (!unit.features.body_before_finally) {
    unit.emit.only_mention([&] { statements(unit, node.finalbody); });
  }
  const Label failed = unit.emit.label();
  const Label end = unit.emit.label();
  unit.emit.protect(failed, false);
  unit.enclosing.push_back({.kind = Enclosing::kTryFinally, .finalbody = node.finalbody});
  if (unit.tree.items(node.handlers).empty()) {
    statements(unit, node.body);
    statements(unit, node.orelse);
  } else {
    node.is_star ? try_star(unit, node) : try_except(unit, node);
  }
  unit.enclosing.pop_back();
  unit.emit.unprotect();
  statements(unit, node.finalbody);
  unit.emit.jump(end);
  unit.emit.place_handler(failed);
  push_exception(unit);
  unit.enclosing.push_back({.kind = Enclosing::kFinallyEnd});
  statements(unit, node.finalbody);
  unit.enclosing.pop_back();
  unit.emit.reraise(false);
  unit.emit.place(end);
}

}  // namespace

void try_statement(Unit& unit, const ast::Try& node) {
  if (!unit.tree.items(node.finalbody).empty()) return try_finally(unit, node);
  node.is_star ? try_star(unit, node) : try_except(unit, node);
}

void push_exception(Unit& unit) {
  if (unit.features.exceptions_are_one_value) unit.emit.op(Op::PushExcInfo);
}

}  // namespace pellucid::verify::lower
