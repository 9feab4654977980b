// SPDX-License-Identifier: Apache-2.0
#include "verify/lower/functions.h"
#include "verify/lower/displays.h"

#include <string>
#include <vector>

#include "verify/lower/annotations.h"
#include "verify/lower/calls.h"
#include "verify/lower/expressions.h"
#include "verify/lower/folding.h"
#include "verify/lower/names.h"
#include "verify/lower/statements.h"
#include "verify/lower/type_parameters.h"

namespace pellucid::verify::lower {

namespace {

// Returns a code object with its arguments alone.
object::Code header_of(Unit& unit, const ast::arguments& args) {
  object::Code header;
  const auto add = [&](NodeId arg) {
    header.varnames.push_back(unit.mangled(unit.tree.as<ast::arg>(arg).arg));
  };
  for (ListId names : {args.posonlyargs, args.args, args.kwonlyargs}) {
    const auto parameters = unit.tree.items(names);
    header.varnames.reserve(header.varnames.size() + parameters.size());
    for (NodeId arg : parameters) add(arg);
  }
  header.posonlyargcount = static_cast<uint32_t>(unit.tree.items(args.posonlyargs).size());
  header.argcount =
      header.posonlyargcount + static_cast<uint32_t>(unit.tree.items(args.args).size());
  header.kwonlyargcount = static_cast<uint32_t>(unit.tree.items(args.kwonlyargs).size());
  if (args.vararg.valid()) {
    add(args.vararg);
    header.flags |= object::kVarArgs;
  }
  if (args.kwarg.valid()) {
    add(args.kwarg);
    header.flags |= object::kVarKeywords;
  }
  return header;
}

// Pushes the tuple of the defaults of positional arguments.
void default_values(Unit& unit, std::span<const NodeId> defaults) {
  std::vector<ConstId> items;
  for (const NodeId value : defaults) {
    const auto item = constant_of(unit, value);
    if (!item || !has_literal(unit, *item)) break;
    items.push_back(*item);
  }
  const auto count = static_cast<uint32_t>(defaults.size());
  // Long ones are left as they are (fold_tuple_of_constants).
  const bool folds = !unit.features.folds_late || count <= kMostOnStack;
  if (folds && items.size() == count) return load(unit, unit.constants.tuple(items));
  expressions(unit, defaults);
  if (folds) return build_tuple(unit, count);
  unit.emit.op(Op::BuildTuple, count);
}

// Pushes the defaults of arguments; returns their flags for make_function().
uint32_t function_defaults(Unit& unit, const ast::arguments& args) {
  uint32_t flags = 0;
  const auto defaults = unit.tree.items(args.defaults);
  if (!defaults.empty()) {
    default_values(unit, defaults);
    flags |= bytecode::kDefaults;
  }
  std::vector<ConstId> names;
  const auto keyword_only = unit.tree.items(args.kwonlyargs);
  const auto keyword_defaults = unit.tree.items(args.kw_defaults);
  for (size_t i = 0; i < keyword_defaults.size(); ++i) {
    if (!keyword_defaults[i].valid()) continue;
    const Symbol name = unit.mangled(unit.tree.as<ast::arg>(keyword_only[i]).arg);
    names.push_back(unit.constants.text(unit.module.text(name)));
    if (unit.features.maps_have_pairs) load(unit, names.back());
    expression(unit, keyword_defaults[i]);
  }
  if (!names.empty()) {
    const auto count = static_cast<uint32_t>(names.size());
    if (!unit.features.maps_have_pairs) load(unit, unit.constants.tuple(names));
    unit.emit.op(unit.features.maps_have_pairs ? Op::BuildMap : Op::BuildConstKeyMap, count);
    flags |= bytecode::kKwDefaults;
  }
  return flags;
}

}  // namespace

void function_definition(Unit& unit, NodeId node) {
  const auto def = unit.tree.as<ast::FunctionDef>(node);
  const auto args = arguments_of(unit, def.args);
  const auto decorators = unit.tree.items(def.decorator_list);
  expressions(unit, decorators);
  uint32_t flags = function_defaults(unit, args);
  if (!unit.tree.items(def.type_params).empty()) {
    generic_function(unit, node, flags);
  } else {
    flags |= function_annotations(unit, node);
    make_function(unit, function_code(unit, node), flags);
  }
  for (size_t i = 0; i < decorators.size(); ++i) call(unit, 1);
  store_name(unit, def.name);
}

void lambda(Unit& unit, NodeId node) {
  const auto lambda = unit.tree.as<ast::Lambda>(node);
  const auto args = arguments_of(unit, lambda.args);
  const uint32_t flags = function_defaults(unit, args);
  const auto body = [&](Unit& own) {
    expression(own, lambda.body);
    own.emit.give_back();
  };
  const Symbol name = unit.symbol("<lambda>");
  make_function(unit,
                compile_unit(unit, unit.symbols.scope_of(node), name, header_of(unit, args), body),
                flags);
}

CodeId function_code(Unit& unit, NodeId node) {
  const auto def = unit.tree.as<ast::FunctionDef>(node);
  const auto args = arguments_of(unit, def.args);
  const auto body = [&](Unit& own) {
    own.nesting = 0;
    body_with_docstring(own, def.body, true);
  };
  return compile_unit(unit, unit.symbols.scope_of(node), def.name, header_of(unit, args), body);
}

void make_function(Unit& unit, CodeId code, uint32_t flags) {
  const std::vector<Symbol> free = unit.module[code].freevars;
  if (!free.empty()) {
    for (Symbol name : free) load_closure(unit, name);
    build_tuple(unit, static_cast<uint32_t>(free.size()));
    flags |= bytecode::kClosure;
  }
  load(unit, unit.constants.code(code));
  if (!unit.features.qualname_in_code) {
    const object::Code& made = unit.module[code];
    // The function of a class body has no qualified name.
    const bool is_function = (made.flags & object::kOptimized) != 0;
    load_text(unit, is_function ? unit.program.qualnames[code.index()]
                                : std::string(unit.module.text(made.name)));
  }
  if (!unit.features.sets_function_attributes)
    return unit.emit.op(Op::MakeFunction, flags, unit.features.qualname_in_code ? 0 : 1);
  unit.emit.op(Op::MakeFunction, 0);
  for (const uint32_t flag : {bytecode::kClosure, bytecode::kAnnotations, bytecode::kAnnotate,
                              bytecode::kKwDefaults, bytecode::kDefaults}) {
    if (flags & flag) unit.emit.op(Op::SetFunctionAttribute, flag);
  }
}

ast::arguments arguments_of(const Unit& unit, NodeId node) {
  return node.valid() ? unit.tree.as<ast::arguments>(node) : ast::arguments();
}

}  // namespace pellucid::verify::lower
