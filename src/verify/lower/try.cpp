// SPDX-License-Identifier: Apache-2.0
// try and with. A finally body is compiled once for each exit of its statement; so is a call of
// __exit__.
#include "verify/lower/compiler.h"

namespace pellucid::verify::lower {

void Compiler::push_exception() {
  if (features_.exceptions_are_one_value) emit().op(Op::PushExcInfo);
}

void Compiler::try_statement(const ast::Try& node) {
  if (!tree_.items(node.finalbody).empty()) return try_finally(node);
  node.is_star ? try_star(node) : try_except(node);
}

void Compiler::try_finally(const ast::Try& node) {
  const Label failed = emit().label();
  const Label end = emit().label();
  emit().protect(failed, false);
  unit().enclosing.push_back({Enclosing::kTryFinally, {}, {}, node.finalbody, {}, false});
  if (tree_.items(node.handlers).empty()) {
    statements(node.body);
    statements(node.orelse);
  } else {
    node.is_star ? try_star(node) : try_except(node);
  }
  unit().enclosing.pop_back();
  emit().unprotect();
  statements(node.finalbody);
  emit().jump(end);
  emit().place_handler(failed);
  push_exception();
  unit().enclosing.push_back({Enclosing::kFinallyEnd, {}, {}, {}, {}, false});
  statements(node.finalbody);
  unit().enclosing.pop_back();
  emit().reraise(false);
  emit().place(end);
}

// Compiles the body and the `else`, which continue at `end`; the handler of the body comes next.
void Compiler::protected_body(const ast::Try& node, Label end) {
  const Label failed = emit().label();
  emit().protect(failed, false);
  unit().enclosing.push_back({Enclosing::kTryExcept, {}, {}, {}, {}, false});
  statements(node.body);
  unit().enclosing.pop_back();
  emit().unprotect();
  statements(node.orelse);
  emit().jump(end);
  emit().place_handler(failed);
  push_exception();
}

void Compiler::try_except(const ast::Try& node) {
  const Label end = emit().label();
  protected_body(node, end);
  for (NodeId handler : tree_.items(node.handlers)) clause(handler, end);
  emit().reraise(false);
  emit().place(end);
}

void Compiler::clause(NodeId node, Label end) {
  const auto handler = tree_.as<ast::ExceptHandler>(node);
  const Label next = emit().label();
  const Emitter::Place before = emit().here();
  if (handler.type.valid()) {
    if (features_.exceptions_are_one_value) {
      expression(handler.type);
      emit().op(Op::Copy, 2);
      emit().op(Op::Swap, 2);
    } else {
      emit().op(Op::Copy, 1);
      expression(handler.type);
    }
    emit().op(Op::ExcMatch);
    emit().branch(false, next);
  }
  const uint32_t slots = features_.exception_slots();
  if (!features_.exceptions_are_one_value) emit().op(Op::Pop);
  if (handler.name.valid()) {
    name(handler.name, Use::Store);
  } else {
    emit().op(Op::Pop);
  }
  if (!features_.exceptions_are_one_value) emit().op(Op::Pop);
  const bool named = handler.name.valid();
  const Label cleanup = emit().label();
  if (named) emit().protect(cleanup, true);
  unit().enclosing.push_back({Enclosing::kHandler, {}, {}, {}, handler.name, named});
  statements(handler.body);
  unit().enclosing.pop_back();
  if (named) emit().unprotect();
  if (named && !features_.unbinds_after_handling) unbind(handler.name);
  emit().op(Op::PopExcept, slots);
  if (named && features_.unbinds_after_handling) unbind(handler.name);
  emit().jump(end);
  if (named) {
    emit().place_handler(cleanup);
    unbind(handler.name);
    emit().reraise(true);
  }
  emit().back_to(before);
  emit().place(next);
}

void Compiler::unbind(Symbol name) {
  load_none();
  this->name(name, Use::Store);
  this->name(name, Use::Delete);
}

void Compiler::with_statement(NodeId node, size_t index) {
  const auto with = tree_.as<ast::With>(node);
  const auto items = tree_.items(with.items);
  if (index == items.size()) return statements(with.body);
  const auto item = tree_.as<ast::withitem>(items[index]);
  const Label failed = emit().label();
  const Label end = emit().label();
  expression(item.context_expr);
  const uint32_t exit_slots = features_.exit_slots();
  emit().op(with.is_async ? Op::BeforeAsyncWith : Op::BeforeWith, 0, exit_slots);
  if (with.is_async) await(1);
  emit().protect(failed, true, 1);
  unit().enclosing.push_back(
      {with.is_async ? Enclosing::kAsyncWith : Enclosing::kWith, {}, {}, {}, {}, false});
  if (item.optional_vars.valid()) {
    assign(item.optional_vars);
  } else {
    emit().op(Op::Pop);
  }
  with_statement(node, index + 1);
  unit().enclosing.pop_back();
  emit().unprotect();
  call_exit(with.is_async);
  emit().jump(end);
  emit().place_handler(failed);
  with_end(with.is_async, end);
  emit().place(end);
}

// Calls the __exit__ on the stack.
void Compiler::call_exit(bool is_async) {
  for (int i = 0; i < 3; ++i) load_none();
  emit().op(Op::Call, 3, features_.exit_slots());
  if (is_async) await(2);
  emit().op(Op::Pop);
}

void Compiler::with_end(bool is_async, Label end) {
  const Label suppressed = emit().label();
  push_exception();
  emit().op(Op::WithExceptStart, features_.exit_depth(), features_.exit_slots());
  if (is_async) await(2);
  emit().branch(true, suppressed);
  emit().reraise(true);
  emit().place(suppressed);
  for (uint32_t i = features_.exception_slots(); i > 0; --i) emit().op(Op::Pop);
  emit().op(Op::PopExcept, features_.exception_slots());
  if (features_.exceptions_are_one_value) emit().op(Op::Pop);
  emit().op(Op::Pop);
  if (features_.exits_have_self) emit().op(Op::Pop);
  emit().jump(end);
}

// Lowers except*: each clause takes the exceptions it matches out of a group; those raised by
// clauses and those left unmatched are collected in a list and reraised together.
void Compiler::try_star(const ast::Try& node) {
  const Label end = emit().label();
  protected_body(node, end);
  emit().op(Op::BuildList, 0);
  emit().op(Op::Copy, 2);
  for (NodeId handler : tree_.items(node.handlers)) star_clause(handler);
  const Label reraise = emit().label();
  emit().op(Op::ListAppend, 1);
  emit().op(Op::Intrinsic2, bytecode::kPrepReraiseStar);
  emit().op(Op::Copy, 1);
  emit().branch_none(false, reraise);
  emit().op(Op::Pop);
  emit().op(Op::PopExcept, 1);
  emit().jump(end);
  emit().place(reraise);
  emit().op(Op::Swap, 2);
  emit().op(Op::PopExcept, 1);
  emit().reraise(false);
  emit().place(end);
}

void Compiler::star_clause(NodeId node) {
  const auto handler = tree_.as<ast::ExceptHandler>(node);
  const Label none = emit().label();
  const Label next = emit().label();
  const Label cleanup = emit().label();
  const bool named = handler.name.valid();
  if (!handler.type.valid()) give_up("except* without a type");
  expression(handler.type);
  emit().op(Op::EgMatch);
  emit().op(Op::Copy, 1);
  emit().branch_none(true, none);
  if (named) {
    name(handler.name, Use::Store);
  } else {
    emit().op(Op::Pop);
  }
  emit().protect(cleanup, true);
  unit().enclosing.push_back({Enclosing::kStarHandler, {}, {}, {}, {}, false});
  statements(handler.body);
  unit().enclosing.pop_back();
  emit().unprotect();
  if (named) unbind(handler.name);
  emit().jump(next);
  emit().place_handler(cleanup);
  if (named) unbind(handler.name);
  emit().op(Op::ListAppend, 3);
  emit().op(Op::Pop);
  emit().jump(next);
  emit().place(none);
  emit().op(Op::Pop);
  emit().place(next);
}

}  // namespace pellucid::verify::lower
