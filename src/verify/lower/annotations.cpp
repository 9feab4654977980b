// SPDX-License-Identifier: Apache-2.0
#include "verify/lower/annotations.h"

#include <string>
#include <utility>
#include <vector>

#include "verify/lower/assignments.h"
#include "verify/lower/expressions.h"
#include "verify/lower/functions.h"
#include "verify/lower/names.h"

namespace pellucid::verify::lower {

namespace {

// Pushes the value of an annotation: under `from __future__ import annotations`, its text.
void annotation(Unit& unit, NodeId node) {
  if (!unit.symbols.has_future_annotations()) return expression(unit, node);
  if (unit.tree.is(node, Kind::Name)) {
    return load_text(unit, unit.tree.text(unit.tree.as<ast::Name>(node).id));
  }
  if (unit.tree.is(node, Kind::Constant)) {
    return load(unit, unit.tree.as<ast::Constant>(node).value);
  }
  give_up("annotation as text not supported");
}

// Records an annotation. Each copy of a `finally` body has its own annotations and indices.
void lazily_annotated(Unit& unit, NodeId node) {
  const bool is_class = unit.scope.kind == ScopeKind::Class;
  if (is_class && unit.conditional == 0) return unit.annotated.push_back({node, -1});
  const int64_t index = unit.next_index++;
  unit.annotated.push_back({node, index});
  unit.emit.op(is_class ? Op::LoadDeref : Op::LoadName,
               unit.symbol("__conditional_annotations__").value);
  load_number(unit, index);
  unit.emit.op(Op::SetAdd, 1);
  unit.emit.op(Op::Pop);
}

// Pushes the values, from 3.10 on each after its name; returns their number.
uint32_t annotation_pairs(Unit& unit, const ast::arguments& args, NodeId returns,
                          std::vector<ConstId>& names) {
  const auto one = [&](Symbol name, NodeId node) {
    if (!node.valid()) return;
    names.push_back(unit.constants.text(unit.module.text(unit.mangled(name))));
    if (unit.features.annotations_in_tuple) load(unit, names.back());
    if (unit.tree.is(node, Kind::Starred) && !unit.symbols.has_future_annotations()) {
      expression(unit, unit.tree.as<ast::Starred>(node).value);
      unit.emit.op(Op::UnpackSequence, 1);
      return;
    }
    annotation(unit, node);
  };
  const auto argument = [&](NodeId node) {
    if (!node.valid()) return;
    const auto arg = unit.tree.as<ast::arg>(node);
    one(arg.arg, arg.annotation);
  };
  // Since 3.15 positional-only arguments come first.
  const ListId first = unit.features.positional_only_first ? args.posonlyargs : args.args;
  const ListId second = unit.features.positional_only_first ? args.args : args.posonlyargs;
  for (NodeId arg : unit.tree.items(first)) argument(arg);
  for (NodeId arg : unit.tree.items(second)) argument(arg);
  argument(args.vararg);
  for (NodeId arg : unit.tree.items(args.kwonlyargs)) argument(arg);
  argument(args.kwarg);
  one(unit.symbol("return"), returns);
  return static_cast<uint32_t>(names.size());
}

}  // namespace

void annotated_assignment(Unit& unit, NodeId statement) {
  const auto node = unit.tree.as<ast::AnnAssign>(statement);
  if (node.value.valid()) {
    expression(unit, node.value);
    assign(unit, node.target);
  }
  const bool in_function = unit.scope.is_function();
  const bool is_lazy = unit.features.lazy_annotations && !unit.symbols.has_future_annotations();
  switch (unit.tree.kind(node.target)) {
    case Kind::Name:
      if (!node.simple) break;
      if (in_function) return;
      if (is_lazy) return lazily_annotated(unit, statement);
      annotation(unit, node.annotation);
      // By name, whatever `__annotations__` is in this scope.
      unit.emit.op(Op::LoadName, unit.symbol("__annotations__").value);
      load_text(unit, unit.module.text(unit.mangled(unit.tree.as<ast::Name>(node.target).id)));
      return unit.emit.op(Op::StoreSubscr);
    case Kind::Attribute:
      if (node.value.valid()) break;
      expression(unit, unit.tree.as<ast::Attribute>(node.target).value);
      unit.emit.op(Op::Pop);
      break;
    case Kind::Subscript:
      if (node.value.valid()) break;
      expression(unit, unit.tree.as<ast::Subscript>(node.target).value);
      unit.emit.op(Op::Pop);
      expression(unit, unit.tree.as<ast::Subscript>(node.target).slice);
      unit.emit.op(Op::Pop);
      break;
    default:  // NOLINT: no targets
      give_up("annotated assignment to this not supported");
  }
  if (in_function || unit.features.lazy_annotations) return;
  if (unit.symbols.has_future_annotations()) return;
  expression(unit, node.annotation);
  unit.emit.op(Op::Pop);
}

uint32_t function_annotations(Unit& unit, NodeId node) {
  const auto def = unit.tree.as<ast::FunctionDef>(node);
  const auto args = arguments_of(unit, def.args);
  if (!unit.features.lazy_annotations) {
    std::vector<ConstId> names;
    const uint32_t count = annotation_pairs(unit, args, def.returns, names);
    if (count == 0) return 0;
    if (unit.features.annotations_in_tuple) {
      build_tuple(unit, 2 * count);
    } else {
      load(unit, unit.constants.tuple(names));
      unit.emit.op(Op::BuildConstKeyMap, count);
    }
    return bytecode::kAnnotations;
  }
  const auto has_annotation = [&](NodeId arg) {
    return arg.valid() && unit.tree.as<ast::arg>(arg).annotation.valid();
  };
  bool has_any = def.returns.valid() || has_annotation(args.vararg) || has_annotation(args.kwarg);
  for (ListId list : {args.args, args.posonlyargs, args.kwonlyargs}) {
    for (NodeId arg : unit.tree.items(list)) has_any = has_any || has_annotation(arg);
  }
  if (!has_any) return 0;
  const ScopeId scope = unit.symbols.scope_of(node, Role::Annotations);
  const auto pairs = [&](Unit& own) {
    std::vector<ConstId> names;
    const uint32_t count = annotation_pairs(own, args, def.returns, names);
    own.emit.op(Op::BuildMap, count);
    own.emit.give_back();
  };
  const std::string owner = unit.features.annotate_has_owner
                                ? std::string(unit.tree.text(def.name)) + '.'
                                : std::string();
  make_function(unit, lazy_code(unit, scope, unit.symbol("__annotate__"), "format", pairs, owner),
                0);
  return bytecode::kAnnotate;
}

CodeId lazy_code(Unit& unit, ScopeId scope, Symbol name, const char* argument, const Body& body,
                 const std::string& owner) {
  constexpr int64_t kValueWithFakeGlobals = 2;
  object::Code header;
  header.varnames.push_back(unit.symbol(argument));
  header.argcount = 1;
  header.posonlyargcount = 1;
  const auto checked = [&](Unit& own) {
    const Label known = own.emit.label();
    own.emit.op(Op::LoadFast, own.first_argument.value);
    load_number(own, kValueWithFakeGlobals);
    own.emit.op(Op::Compare, static_cast<uint32_t>(bytecode::CompareOperator::Gt));
    own.emit.branch(false, known);
    own.emit.op(Op::LoadCommonConstant, 1);  // NotImplementedError
    own.emit.raise(1);
    own.emit.place(known);
    body(own);
  };
  return compile_unit(unit, scope, name, std::move(header), checked, owner);
}

void make_conditional_set(Unit& unit) {
  if (!unit.scope.needs_conditional_set) return;
  const bool is_class = unit.scope.kind == ScopeKind::Class;
  unit.emit.op(Op::BuildSet, 0);
  unit.emit.op(is_class ? Op::StoreDeref : Op::StoreName,
               unit.symbol("__conditional_annotations__").value);
}

void lazy_annotations(Unit& unit) {
  const std::vector<Unit::Annotated> annotated = unit.annotated;
  if (annotated.empty()) return;
  const bool is_class = unit.scope.kind == ScopeKind::Class;
  const ScopeId inner = unit.symbols.scope_of(unit.scope.node, Role::Annotations);
  const CodeId code = lazy_code(unit, inner, unit.symbol("__annotate__"), "format", [&](Unit& own) {
    const Symbol set = own.symbol("__conditional_annotations__");
    own.emit.op(Op::BuildMap, 0);
    for (const auto& [node, index] : annotated) {
      const auto assignment = own.tree.as<ast::AnnAssign>(node);
      const Label skipped = own.emit.label();
      if (index >= 0) {
        load_number(own, index);
        own.emit.op(is_class ? Op::LoadDeref : Op::LoadGlobal, set.value);
        if (is_class) own.late_free = {set};
        own.emit.op(Op::ContainsOp, 0);
        own.emit.branch(false, skipped);
      }
      expression(own, assignment.annotation);
      own.emit.op(Op::Copy, 2);
      load_text(own, own.module.text(own.mangled(own.tree.as<ast::Name>(assignment.target).id)));
      own.emit.op(Op::StoreSubscr);
      own.emit.place(skipped);
    }
    own.emit.give_back();
  });
  make_function(unit, code, 0);
  store_name(unit, is_class ? "__annotate_func__" : "__annotate__");
}

}  // namespace pellucid::verify::lower
