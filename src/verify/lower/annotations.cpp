// SPDX-License-Identifier: Apache-2.0
// Annotations: evaluated in place up to 3.13, since 3.14 by functions that are called on request.
// Under `from __future__ import annotations` they are strings.
#include "verify/lower/compiler.h"

namespace pellucid::verify::lower {

// Pushes the value of an annotation: under `from __future__ import annotations`, its text.
void Compiler::annotation(NodeId node) {
  if (!symbols_.has_future_annotations()) return expression(node);
  if (tree_.is(node, Kind::Name)) return load_text(tree_.text(tree_.as<ast::Name>(node).id));
  if (tree_.is(node, Kind::Constant)) return load(tree_.as<ast::Constant>(node).value);
  give_up("annotation as text not supported");
}

void Compiler::annotated(NodeId statement) {
  const auto node = tree_.as<ast::AnnAssign>(statement);
  if (node.value.valid()) {
    expression(node.value);
    assign(node.target);
  }
  const bool in_function = scope().is_function();
  const bool is_lazy = features_.lazy_annotations && !symbols_.has_future_annotations();
  switch (tree_.kind(node.target)) {
    case Kind::Name:
      if (!node.simple) break;
      if (in_function) return;
      if (is_lazy) return lazily_annotated(statement);
      annotation(node.annotation);
      // By name, whatever `__annotations__` is in this scope.
      emit().op(Op::LoadName, text("__annotations__").value);
      load_text(out_.module.text(mangled(tree_.as<ast::Name>(node.target).id)));
      return emit().op(Op::StoreSubscr);
    case Kind::Attribute:
      if (node.value.valid()) break;
      expression(tree_.as<ast::Attribute>(node.target).value);
      emit().op(Op::Pop);
      break;
    case Kind::Subscript:
      if (node.value.valid()) break;
      expression(tree_.as<ast::Subscript>(node.target).value);
      emit().op(Op::Pop);
      expression(tree_.as<ast::Subscript>(node.target).slice);
      emit().op(Op::Pop);
      break;
    default:  // NOLINT: no targets
      give_up("annotated assignment to this not supported");
  }
  if (in_function || features_.lazy_annotations || symbols_.has_future_annotations()) return;
  expression(node.annotation);
  emit().op(Op::Pop);
}

uint32_t Compiler::function_annotations(NodeId node) {
  const auto def = tree_.as<ast::FunctionDef>(node);
  const auto args = arguments_of(def.args);
  if (!features_.lazy_annotations) {
    std::vector<ConstId> names;
    const uint32_t count = annotation_pairs(args, def.returns, names);
    if (count == 0) return 0;
    if (features_.annotations_in_tuple) {
      emit().op(Op::BuildTuple, 2 * count);
    } else {
      load(tuple_constant(names));
      emit().op(Op::BuildConstKeyMap, count);
    }
    return bytecode::kAnnotations;
  }
  const auto has_annotation = [&](NodeId arg) {
    return arg.valid() && tree_.as<ast::arg>(arg).annotation.valid();
  };
  bool has_any = def.returns.valid() || has_annotation(args.vararg) || has_annotation(args.kwarg);
  for (ListId list : {args.args, args.posonlyargs, args.kwonlyargs}) {
    for (NodeId arg : tree_.items(list)) has_any = has_any || has_annotation(arg);
  }
  if (!has_any) return 0;
  const ScopeId scope = symbols_.scope_of(node, Role::Annotations);
  const auto pairs = [&] {
    std::vector<ConstId> names;
    const uint32_t count = annotation_pairs(args, def.returns, names);
    emit().op(Op::BuildMap, count);
    emit().give_back();
  };
  const std::string owner =
      features_.annotate_has_owner ? std::string(tree_.text(def.name)) + '.' : std::string();
  make_function(lazy_code(scope, text("__annotate__"), "format", pairs, owner), 0);
  return bytecode::kAnnotate;
}

// Pushes the values, from 3.10 on each after its name; returns their number.
uint32_t Compiler::annotation_pairs(const ast::arguments& args, NodeId returns,
                                    std::vector<ConstId>& names) {
  const auto one = [&](Symbol name, NodeId node) {
    if (!node.valid()) return;
    names.push_back(string_constant(out_.module.text(mangled(name))));
    if (features_.annotations_in_tuple) load(names.back());
    if (tree_.is(node, Kind::Starred) && !symbols_.has_future_annotations()) {
      expression(tree_.as<ast::Starred>(node).value);
      emit().op(Op::UnpackSequence, 1);
      return;
    }
    annotation(node);
  };
  const auto argument = [&](NodeId node) {
    if (node.valid()) one(tree_.as<ast::arg>(node).arg, tree_.as<ast::arg>(node).annotation);
  };
  // Since 3.15 positional-only arguments come first.
  const ListId first = features_.positional_only_first ? args.posonlyargs : args.args;
  const ListId second = features_.positional_only_first ? args.args : args.posonlyargs;
  for (NodeId arg : tree_.items(first)) argument(arg);
  for (NodeId arg : tree_.items(second)) argument(arg);
  argument(args.vararg);
  for (NodeId arg : tree_.items(args.kwonlyargs)) argument(arg);
  argument(args.kwarg);
  one(text("return"), returns);
  return static_cast<uint32_t>(names.size());
}

// -- 3.14 ----------------------------------------------------------------------------------------

CodeId Compiler::lazy_code(ScopeId scope, Symbol name, const char* argument,
                           const std::function<void()>& body, const std::string& owner) {
  constexpr int64_t kValueWithFakeGlobals = 2;
  object::Code header;
  header.varnames.push_back(text(argument));
  header.argcount = 1;
  header.posonlyargcount = 1;
  const auto checked = [&] {
    const Label known = emit().label();
    emit().op(Op::LoadFast, unit().first_argument.value);
    load_number(kValueWithFakeGlobals);
    emit().op(Op::Compare, static_cast<uint32_t>(bytecode::CompareOperator::Gt));
    emit().branch(false, known);
    emit().op(Op::LoadCommonConstant, 1);  // NotImplementedError
    emit().raise(1);
    emit().place(known);
    body();
  };
  return compile_unit(scope, name, std::move(header), checked, owner);
}

// Makes the set of the annotations of a module or class that were reached.
void Compiler::make_conditional_set() {
  if (!scope().needs_conditional_set) return;
  const bool is_class = scope().kind == ScopeKind::Class;
  emit().op(Op::BuildSet, 0);
  emit().op(is_class ? Op::StoreDeref : Op::StoreName, text("__conditional_annotations__").value);
}

// Records an annotation. Each copy of a `finally` body has its own annotations and indices.
void Compiler::lazily_annotated(NodeId node) {
  const bool is_class = scope().kind == ScopeKind::Class;
  if (is_class && unit().conditional == 0) return unit().annotated.push_back({node, -1});
  const int64_t index = unit().next_index++;
  unit().annotated.push_back({node, index});
  emit().op(is_class ? Op::LoadDeref : Op::LoadName, text("__conditional_annotations__").value);
  load_number(index);
  emit().op(Op::SetAdd, 1);
  emit().op(Op::Pop);
}

// Stores the function that makes the dict of all annotations met in this module or class.
void Compiler::lazy_annotations() {
  const std::vector<Unit::Annotated> annotated = unit().annotated;
  if (annotated.empty()) return;
  const bool is_class = scope().kind == ScopeKind::Class;
  const ScopeId inner = symbols_.scope_of(scope().node, Role::Annotations);
  const CodeId code = lazy_code(inner, text("__annotate__"), "format", [&] {
    const Symbol set = text("__conditional_annotations__");
    emit().op(Op::BuildMap, 0);
    for (const auto& [node, index] : annotated) {
      const auto assignment = tree_.as<ast::AnnAssign>(node);
      const Label skipped = emit().label();
      if (index >= 0) {
        load_number(index);
        emit().op(is_class ? Op::LoadDeref : Op::LoadGlobal, set.value);
        if (is_class) unit().late_free = {set};
        emit().op(Op::ContainsOp, 0);
        emit().branch(false, skipped);
      }
      expression(assignment.annotation);
      emit().op(Op::Copy, 2);
      load_text(out_.module.text(mangled(tree_.as<ast::Name>(assignment.target).id)));
      emit().op(Op::StoreSubscr);
      emit().place(skipped);
    }
    emit().give_back();
  });
  make_function(code, 0);
  store_name(is_class ? "__annotate_func__" : "__annotate__");
}

}  // namespace pellucid::verify::lower
