// SPDX-License-Identifier: Apache-2.0
// Type parameters and aliases (3.12+): hidden functions, called at once, that bind the parameters
// and return their function, class or alias; bounds, defaults and values of aliases are deferred in
// separate functions.
#include "verify/lower/compiler.h"

namespace pellucid::verify::lower {

void Compiler::deferred(NodeId value, ScopeId scope, Symbol name) {
  const auto body = [&] {
    // The function of an alias's value has None as its first constant.
    unit().first_is_docstring =
        !features_.lazy_annotations && !tree_.is(symbols_[scope].node, Kind::TypeAlias);
    if (tree_.is(value, Kind::Starred)) {
      expression(tree_.as<ast::Starred>(value).value);
      emit().op(Op::UnpackSequence, 1);
    } else {
      expression(value);
    }
    emit().give_back();
  };
  if (!features_.lazy_annotations)
    return make_function(compile_unit(scope, name, object::Code(), body), 0);
  // The default format is 1 (VALUE).
  object::Const one;
  one.kind = object::ConstKind::Int;
  one.integer = 1;
  load(tuple_constant({out_.module.add(std::move(one))}));
  make_function(lazy_code(scope, name, ".format", body), bytecode::kDefaults);
}

// Binds each parameter, and pushes the tuple of them.
void Compiler::type_parameters(ListId parameters) {
  const auto list = tree_.items(parameters);
  for (NodeId node : list) {
    const Symbol name(tree_.slot(node, 0));
    load_text(out_.module.text(name));
    NodeId otherwise;
    if (tree_.is(node, Kind::TypeVar)) {
      const auto variable = tree_.as<ast::TypeVar>(node);
      otherwise = variable.default_value;
      if (variable.bound.valid()) {
        deferred(variable.bound, symbols_.scope_of(node, Role::Bound), name);
        emit().op(Op::Intrinsic2, tree_.is(variable.bound, Kind::Tuple)
                                      ? bytecode::kTypeVarWithConstraints
                                      : bytecode::kTypeVarWithBound);
      } else {
        emit().op(Op::Intrinsic1, bytecode::kTypeVar);
      }
    } else if (tree_.is(node, Kind::ParamSpec)) {
      otherwise = tree_.as<ast::ParamSpec>(node).default_value;
      emit().op(Op::Intrinsic1, bytecode::kParamSpec);
    } else {
      otherwise = tree_.as<ast::TypeVarTuple>(node).default_value;
      emit().op(Op::Intrinsic1, bytecode::kTypeVarTuple);
    }
    if (otherwise.valid()) {
      deferred(otherwise, symbols_.scope_of(node, Role::Default), name);
      emit().op(Op::Intrinsic2, bytecode::kSetTypeParamDefault);
    }
    emit().op(Op::Copy, 1);
    this->name(name, Use::Store);
  }
  emit().op(Op::BuildTuple, static_cast<uint32_t>(list.size()));
}

CodeId Compiler::hidden_code(NodeId node, Symbol name, const object::Code& header,
                             const std::function<void()>& body) {
  const std::string hidden = "<generic parameters of " + std::string(out_.module.text(name)) + '>';
  return compile_unit(symbols_.scope_of(node, Role::TypeParameters), text(hidden), header, [&] {
    body();
    emit().give_back();
  });
}

void Compiler::generic_function(NodeId node, uint32_t flags) {
  const auto def = tree_.as<ast::FunctionDef>(node);
  object::Code header;
  for (const auto& [flag, name] : {std::pair(bytecode::kDefaults, ".defaults"),
                                   std::pair(bytecode::kKwDefaults, ".kwdefaults")}) {
    if (flags & flag) header.varnames.push_back(text(name));
  }
  header.argcount = static_cast<uint32_t>(header.varnames.size());
  // CPython uses this name for the first argument, whichever it is.
  if (header.argcount > 0) header.varnames[0] = text(".defaults");
  const CodeId code = hidden_code(node, def.name, header, [&] {
    type_parameters(def.type_params);
    for (Symbol name : header.varnames) this->name(name, Use::Load);
    const uint32_t annotations = function_annotations(node);
    make_function(function_code(node), flags | annotations);
    emit().op(Op::Swap, 2);
    emit().op(Op::Intrinsic2, bytecode::kSetFunctionTypeParams);
  });
  make_function(code, 0);
  if (header.argcount > 0) emit().op(Op::Rot, header.argcount + 1);
  call(header.argcount);
}

void Compiler::generic_class(NodeId node) {
  const auto def = tree_.as<ast::ClassDef>(node);
  const CodeId code = hidden_code(node, def.name, object::Code(), [&] {
    type_parameters(def.type_params);
    store_name(".type_params");
    emit().op(Op::LoadBuildClass);
    make_function(class_code(node), 0);
    load_text(out_.module.text(def.name));
    load_name(".type_params");
    emit().op(Op::Intrinsic1, bytecode::kSubscriptGeneric);
    store_name(".generic_base");
    class_arguments(def, {text(".generic_base")});
  });
  make_function(code, 0);
  call(0);
}

void Compiler::type_alias(NodeId node) {
  const auto alias = tree_.as<ast::TypeAlias>(node);
  const Symbol id = tree_.as<ast::Name>(alias.name).id;
  const bool is_generic = !tree_.items(alias.type_params).empty();
  const auto make = [&] {
    load_text(out_.module.text(id));
    if (is_generic) {
      type_parameters(alias.type_params);
    } else {
      load_none();
    }
    deferred(alias.value, symbols_.scope_of(node), id);
    emit().op(Op::BuildTuple, 3);
    emit().op(Op::Intrinsic1, bytecode::kTypeAlias);
  };
  if (is_generic) {
    make_function(hidden_code(node, id, object::Code(), make), 0);
    call(0);
  } else {
    make();
  }
  name(id, Use::Store);
}

}  // namespace pellucid::verify::lower
