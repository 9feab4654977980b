// SPDX-License-Identifier: Apache-2.0
#include "verify/lower/type_parameters.h"

#include <string>
#include <utility>

#include "verify/lower/annotations.h"
#include "verify/lower/calls.h"
#include "verify/lower/classes.h"
#include "verify/lower/expressions.h"
#include "verify/lower/functions.h"
#include "verify/lower/names.h"

namespace pellucid::verify::lower {

namespace {

// Pushes the function that evaluates a bound, a default or the value of an alias.
void deferred(Unit& unit, NodeId value, ScopeId scope, Symbol name) {
  const auto body = [&](Unit& own) {
    // The function of an alias's value has None as its first constant.
    own.first_is_docstring =
        !own.features.lazy_annotations && !own.tree.is(own.scope.node, Kind::TypeAlias);
    if (own.tree.is(value, Kind::Starred)) {
      expression(own, own.tree.as<ast::Starred>(value).value);
      own.emit.op(Op::UnpackSequence, 1);
    } else {
      expression(own, value);
    }
    own.emit.give_back();
  };
  if (!unit.features.lazy_annotations)
    return make_function(unit, compile_unit(unit, scope, name, object::Code(), body), 0);
  // The default format is 1 (VALUE).
  load(unit, unit.constants.tuple({unit.constants.number(1)}));
  make_function(unit, lazy_code(unit, scope, name, ".format", body), bytecode::kDefaults);
}

// Binds each parameter, and pushes the tuple of them.
void type_parameters(Unit& unit, ListId parameters) {
  const auto list = unit.tree.items(parameters);
  for (NodeId node : list) {
    const Symbol name(unit.tree.slot(node, 0));
    load_text(unit, unit.module.text(name));
    NodeId otherwise;
    if (unit.tree.is(node, Kind::TypeVar)) {
      const auto variable = unit.tree.as<ast::TypeVar>(node);
      otherwise = variable.default_value;
      if (variable.bound.valid()) {
        deferred(unit, variable.bound, unit.symbols.scope_of(node, Role::Bound), name);
        unit.emit.op(Op::Intrinsic2, unit.tree.is(variable.bound, Kind::Tuple)
                                         ? bytecode::kTypeVarWithConstraints
                                         : bytecode::kTypeVarWithBound);
      } else {
        unit.emit.op(Op::Intrinsic1, bytecode::kTypeVar);
      }
    } else if (unit.tree.is(node, Kind::ParamSpec)) {
      otherwise = unit.tree.as<ast::ParamSpec>(node).default_value;
      unit.emit.op(Op::Intrinsic1, bytecode::kParamSpec);
    } else {
      otherwise = unit.tree.as<ast::TypeVarTuple>(node).default_value;
      unit.emit.op(Op::Intrinsic1, bytecode::kTypeVarTuple);
    }
    if (otherwise.valid()) {
      deferred(unit, otherwise, unit.symbols.scope_of(node, Role::Default), name);
      unit.emit.op(Op::Intrinsic2, bytecode::kSetTypeParamDefault);
    }
    unit.emit.op(Op::Copy, 1);
    store_name(unit, name);
  }
  build_tuple(unit, static_cast<uint32_t>(list.size()));
}

// Compiles the hidden function of a generic function, class or alias.
CodeId hidden_code(Unit& unit, NodeId node, Symbol name, object::Code header, const Body& body) {
  const std::string hidden = "<generic parameters of " + std::string(unit.module.text(name)) + '>';
  const auto returns = [&](Unit& own) {
    body(own);
    own.emit.give_back();
  };
  const ScopeId scope = unit.symbols.scope_of(node, Role::TypeParameters);
  return compile_unit(unit, scope, unit.symbol(hidden), std::move(header), returns);
}

}  // namespace

void type_alias(Unit& unit, NodeId node) {
  const auto alias = unit.tree.as<ast::TypeAlias>(node);
  const Symbol id = unit.tree.as<ast::Name>(alias.name).id;
  const bool is_generic = !unit.tree.items(alias.type_params).empty();
  const auto make = [&](Unit& own) {
    load_text(own, own.module.text(id));
    if (is_generic) {
      type_parameters(own, alias.type_params);
    } else {
      load_none(own);
    }
    deferred(own, alias.value, own.symbols.scope_of(node), id);
    build_tuple(own, 3);
    own.emit.op(Op::Intrinsic1, bytecode::kTypeAlias);
  };
  if (is_generic) {
    make_function(unit, hidden_code(unit, node, id, object::Code(), make), 0);
    call(unit, 0);
  } else {
    make(unit);
  }
  store_name(unit, id);
}

void generic_function(Unit& unit, NodeId node, uint32_t flags) {
  const auto def = unit.tree.as<ast::FunctionDef>(node);
  object::Code header;
  for (const auto& [flag, name] : {std::pair(bytecode::kDefaults, ".defaults"),
                                   std::pair(bytecode::kKwDefaults, ".kwdefaults")}) {
    if (flags & flag) header.varnames.push_back(unit.symbol(name));
  }
  header.argcount = static_cast<uint32_t>(header.varnames.size());
  // CPython uses this name for the first argument, whichever it is.
  if (header.argcount > 0) header.varnames[0] = unit.symbol(".defaults");
  const CodeId code = hidden_code(unit, node, def.name, header, [&](Unit& own) {
    type_parameters(own, def.type_params);
    for (Symbol name : header.varnames) load_name(own, name);
    const uint32_t annotations = function_annotations(own, node);
    make_function(own, function_code(own, node), flags | annotations);
    own.emit.op(Op::Swap, 2);
    own.emit.op(Op::Intrinsic2, bytecode::kSetFunctionTypeParams);
  });
  make_function(unit, code, 0);
  if (header.argcount > 0) unit.emit.op(Op::Rot, header.argcount + 1);
  call(unit, header.argcount);
}

void generic_class(Unit& unit, NodeId node) {
  const auto def = unit.tree.as<ast::ClassDef>(node);
  const CodeId code = hidden_code(unit, node, def.name, object::Code(), [&](Unit& own) {
    type_parameters(own, def.type_params);
    store_name(own, ".type_params");
    load_build_class(own);
    make_function(own, class_code(own, node), 0);
    load_text(own, own.module.text(def.name));
    load_name(own, ".type_params");
    own.emit.op(Op::Intrinsic1, bytecode::kSubscriptGeneric);
    store_name(own, ".generic_base");
    class_arguments(own, def, {own.symbol(".generic_base")});
  });
  make_function(unit, code, 0);
  call(unit, 0);
}

}  // namespace pellucid::verify::lower
