// SPDX-License-Identifier: Apache-2.0
#include "verify/lower/statements.h"

#include <string>
#include <vector>

#include "verify/lower/annotations.h"
#include "verify/lower/assignments.h"
#include "verify/lower/calls.h"
#include "verify/lower/classes.h"
#include "verify/lower/conditions.h"
#include "verify/lower/expressions.h"
#include "verify/lower/folding.h"
#include "verify/lower/functions.h"
#include "verify/lower/imports.h"
#include "verify/lower/loops.h"
#include "verify/lower/match.h"
#include "verify/lower/names.h"
#include "verify/lower/try.h"
#include "verify/lower/type_parameters.h"
#include "verify/lower/unwinding.h"
#include "verify/lower/with.h"

namespace pellucid::verify::lower {

namespace {

void expression_statement(Unit& unit, NodeId value) {
  if (unit.tree.is(value, Kind::Constant)) return;
  expression(unit, value);
  // Up to 3.12 the POP_TOP has no line, so that it stays after stores.
  const int32_t line = unit.emit.lines.now();
  if (!unit.features.dropped_values_have_lines) unit.emit.lines.set(Lines::kNone);
  unit.emit.op(Op::Pop);
  unit.emit.lines.set(line);
}

// Lowers a chain of `elif` by a loop, not by recursion.
void if_statement(Unit& unit, NodeId node) {
  const Label end = unit.emit.label();
  while (true) {
    const auto choice = unit.tree.as<ast::If>(node);
    const auto truth = truth_of(unit, choice.test);
    const auto otherwise = unit.tree.items(choice.orelse);
    const Label next = unit.emit.label();
    if (!truth) jump_if(unit, choice.test, false, next);
    if (truth == false) unit.emit.jump(next);
    statements(unit, choice.body);
    unit.emit.jump(end);
    unit.emit.place(next);
    if (otherwise.size() != 1 || !unit.tree.is(otherwise[0], Kind::If)) {
      statements(unit, choice.orelse);
      break;
    }
    node = otherwise[0];
  }
  unit.emit.place(end);
}

void return_statement(Unit& unit, NodeId value) {
  const bool keeps = value.valid() && !constant_of(unit, value);
  const Position before = unit.emit.here();
  if (keeps) expression(unit, value);
  unwind_to(unit, 0, keeps);
  if (!keeps) {
    if (value.valid()) {
      load(unit, *constant_of(unit, value));
    } else {
      load_none(unit);
    }
  }
  unit.emit.give_back();
  unit.emit.back_to(before);
}

void raise_statement(Unit& unit, const ast::Raise& node) {
  uint32_t values = 0;
  for (NodeId value : {node.exc, node.cause}) {
    if (!value.valid()) continue;
    expression(unit, value);
    ++values;
  }
  unit.emit.raise(values);
}

void assert_statement(Unit& unit, const ast::Assert& node) {
  const Label end = unit.emit.label();
  jump_if(unit, node.test, true, end);
  if (unit.features.asserts_by_opcode) {
    unit.emit.op(Op::LoadAssertionError);
  } else {
    unit.emit.op(Op::LoadGlobal, unit.symbol("AssertionError").value);
  }
  if (node.msg.valid()) {
    expression(unit, node.msg);
    call(unit, 1);
  }
  unit.emit.raise(1);
  unit.emit.place(end);
}

// Returns true if a module or class needs `__annotations__`: if any statement outside nested
// functions and classes has an annotation.
bool has_annotations(const Unit& unit, ListId body) {
  std::vector<NodeId> todo(unit.tree.items(body).begin(), unit.tree.items(body).end());
  const auto add = [&](ListId list) {
    for (NodeId item : unit.tree.items(list)) todo.push_back(item);
  };
  while (!todo.empty()) {
    const NodeId node = todo.back();
    todo.pop_back();
    switch (unit.tree.kind(node)) {
      case Kind::AnnAssign:
        return true;
      case Kind::For:
        add(unit.tree.as<ast::For>(node).body);
        add(unit.tree.as<ast::For>(node).orelse);
        break;
      case Kind::While:
        add(unit.tree.as<ast::While>(node).body);
        add(unit.tree.as<ast::While>(node).orelse);
        break;
      case Kind::If:
        add(unit.tree.as<ast::If>(node).body);
        add(unit.tree.as<ast::If>(node).orelse);
        break;
      case Kind::With:
        add(unit.tree.as<ast::With>(node).body);
        break;
      case Kind::Match:
        for (NodeId part : unit.tree.items(unit.tree.as<ast::Match>(node).cases)) {
          add(unit.tree.as<ast::match_case>(part).body);
        }
        break;
      case Kind::Try: {
        const auto attempt = unit.tree.as<ast::Try>(node);
        add(attempt.body);
        add(attempt.orelse);
        add(attempt.finalbody);
        for (NodeId part : unit.tree.items(attempt.handlers)) {
          add(unit.tree.as<ast::ExceptHandler>(part).body);
        }
        break;
      }
      default:  // NOLINT: holds no statements of this scope
        break;
    }
  }
  return false;
}

}  // namespace

void statements(Unit& unit, ListId list) {
  for (NodeId node : unit.tree.items(list)) statement(unit, node);
}

void statement(Unit& unit, NodeId node) {
  if (++unit.nesting > kDeepest) give_up("statements are nested too deep");
  if (unit.tree.where(node).offset != 0xffffffffu)
    unit.emit.lines.start(unit.tree.where(node).offset);
  const bool is_conditional = may_skip_parts(unit.tree.kind(node));
  if (is_conditional) ++unit.conditional;
  switch (unit.tree.kind(node)) {
    case Kind::FunctionDef:
      function_definition(unit, node);
      break;
    case Kind::ClassDef:
      class_definition(unit, node);
      break;
    case Kind::Return:
      return_statement(unit, unit.tree.as<ast::Return>(node).value);
      break;
    case Kind::Delete:
      for (NodeId target : unit.tree.items(unit.tree.as<ast::Delete>(node).targets))
        delete_target(unit, target);
      break;
    case Kind::Assign:
      assignment(unit, unit.tree.as<ast::Assign>(node));
      break;
    case Kind::TypeAlias:
      type_alias(unit, node);
      break;
    case Kind::AugAssign:
      augmented_assignment(unit, unit.tree.as<ast::AugAssign>(node));
      break;
    case Kind::AnnAssign:
      annotated_assignment(unit, node);
      break;
    case Kind::For:
      for_loop(unit, unit.tree.as<ast::For>(node));
      break;
    case Kind::While:
      while_loop(unit, unit.tree.as<ast::While>(node));
      break;
    case Kind::If:
      if_statement(unit, node);
      break;
    case Kind::With:
      with_statement(unit, unit.tree.as<ast::With>(node));
      break;
    case Kind::Match:
      match_statement(unit, unit.tree.as<ast::Match>(node));
      break;
    case Kind::Raise:
      raise_statement(unit, unit.tree.as<ast::Raise>(node));
      break;
    case Kind::Try:
      try_statement(unit, unit.tree.as<ast::Try>(node));
      break;
    case Kind::Assert:
      assert_statement(unit, unit.tree.as<ast::Assert>(node));
      break;
    case Kind::Import:
      import_statement(unit, unit.tree.as<ast::Import>(node));
      break;
    case Kind::ImportFrom:
      import_from_statement(unit, unit.tree.as<ast::ImportFrom>(node));
      break;
    case Kind::Expr:
      expression_statement(unit, unit.tree.as<ast::Expr>(node).value);
      break;
    case Kind::Break:
      leave_loop(unit, false);
      break;
    case Kind::Continue:
      leave_loop(unit, true);
      break;
    case Kind::Unstructured:
      statements(unit, unit.tree.as<ast::Unstructured>(node).body);
      break;
    case Kind::Global:
    case Kind::Nonlocal:
    case Kind::Pass:
    case Kind::Comment:
      break;
    default:  // NOLINT: no statements
      give_up(std::string(ast::name_of(unit.tree.kind(node))) + " not supported");
  }
  if (is_conditional) --unit.conditional;
  --unit.nesting;
}

void body_with_docstring(Unit& unit, ListId body, bool is_function) {
  const auto list = unit.tree.items(body);
  const bool is_eager = !unit.features.lazy_annotations || unit.symbols.has_future_annotations();
  if (!is_function && is_eager && has_annotations(unit, body)) unit.emit.op(Op::SetupAnnotations);
  size_t first = 0;
  if (!list.empty() && unit.tree.is(list[0], Kind::Expr)) {
    const NodeId value = unit.tree.as<ast::Expr>(list[0]).value;
    if (unit.tree.is(value, Kind::Constant)) {
      const ConstId text = unit.tree.as<ast::Constant>(value).value;
      if (unit.module[text].kind == object::ConstKind::Str) {
        first = 1;
        if (is_function) {
          object::Code& code = unit.module.codes.edit(unit.code);
          code.consts = {text};
          if (unit.features.flags_docstrings_and_methods) code.flags |= object::kHasDocstring;
        } else {
          load(unit, text);
          store_name(unit, "__doc__");
        }
      }
    }
  }
  for (size_t i = first; i < list.size(); ++i) statement(unit, list[i]);
}

}  // namespace pellucid::verify::lower
