// SPDX-License-Identifier: Apache-2.0
#include "verify/lower/classes.h"

#include <string>
#include <vector>

#include "verify/lower/annotations.h"
#include "verify/lower/calls.h"
#include "verify/lower/expressions.h"
#include "verify/lower/functions.h"
#include "verify/lower/names.h"
#include "verify/lower/statements.h"
#include "verify/lower/type_parameters.h"

namespace pellucid::verify::lower {

namespace {

void class_body(Unit& unit, const ast::ClassDef& def) {
  load_name(unit, "__name__");
  store_name(unit, "__module__");
  load_text(unit, unit.qualname);
  store_name(unit, "__qualname__");
  if (unit.features.classes_list_attributes) {
    load_number(unit, 0);
    store_name(unit, "__firstlineno__");
  }
  if (!unit.tree.items(def.type_params).empty()) {
    load_name(unit, ".type_params");
    store_name(unit, "__type_params__");
  }
  if (unit.scope.needs_class_dictionary) {
    unit.emit.op(Op::LoadLocals);
    unit.emit.op(Op::StoreDeref, unit.symbol("__classdict__").value);
  }
  make_conditional_set(unit);
  body_with_docstring(unit, def.body, false);
  lazy_annotations(unit);
  if (unit.features.classes_list_attributes) {
    std::vector<ConstId> names;
    for (const std::string& name : unit.attributes) names.push_back(unit.constants.text(name));
    load(unit, unit.constants.tuple(names));
    store_name(unit, "__static_attributes__");
  }
  if (unit.scope.needs_class_dictionary) {
    load_closure(unit, unit.symbol("__classdict__"));
    store_name(unit, "__classdictcell__");
  }
  if (!unit.scope.needs_class_cell) return;
  load_closure(unit, unit.symbol("__class__"));
  unit.emit.op(Op::Copy, 1);
  store_name(unit, "__classcell__");
  unit.emit.give_back();
}

}  // namespace

void load_build_class(Unit& unit) {
  null_before_callee(unit);
  unit.emit.op(Op::LoadBuildClass);
  null_after_callee(unit);
}

void class_definition(Unit& unit, NodeId node) {
  const auto def = unit.tree.as<ast::ClassDef>(node);
  const auto decorators = unit.tree.items(def.decorator_list);
  expressions(unit, decorators);
  if (!unit.tree.items(def.type_params).empty()) {
    generic_class(unit, node);
  } else {
    load_build_class(unit);
    make_function(unit, class_code(unit, node), 0);
    load_text(unit, unit.module.text(def.name));
    class_arguments(unit, def, {});
  }
  for (size_t i = 0; i < decorators.size(); ++i) call(unit, 1);
  store_name(unit, def.name);
}

CodeId class_code(Unit& unit, NodeId node) {
  const auto def = unit.tree.as<ast::ClassDef>(node);
  const auto body = [&](Unit& own) { class_body(own, def); };
  return compile_unit(unit, unit.symbols.scope_of(node), def.name, object::Code(), body);
}

void class_arguments(Unit& unit, const ast::ClassDef& def, const std::vector<Symbol>& injected) {
  call_with(unit, unit.tree.items(def.bases), unit.tree.items(def.keywords), injected, 2);
}

}  // namespace pellucid::verify::lower
