// SPDX-License-Identifier: Apache-2.0
#include "verify/lower/calls.h"

#include <algorithm>

#include "verify/lower/displays.h"
#include "verify/lower/expressions.h"
#include "verify/lower/folding.h"
#include "verify/lower/names.h"

namespace pellucid::verify::lower {

namespace {

bool are_unpacked(const Unit& unit, std::span<const NodeId> args,
                  std::span<const NodeId> keywords) {
  return std::any_of(args.begin(), args.end(),
                     [&](NodeId arg) { return unit.tree.is(arg, Kind::Starred); }) ||
         std::any_of(keywords.begin(), keywords.end(), [&](NodeId keyword) {
           return !unit.tree.as<ast::keyword>(keyword).arg.valid();
         });
}

// Returns true if the arguments are passed in a tuple and a dictionary (CALL_FUNCTION_EX).
bool are_large(const Unit& unit, std::span<const NodeId> args, std::span<const NodeId> keywords,
               size_t injected) {
  // So many positional arguments become a tuple, and the keyword arguments a dictionary.
  return are_unpacked(unit, args, keywords) ||
         (unit.features.limits_stack &&
          args.size() + injected + 2 * keywords.size() > kMostOnStack);
}

// Returns true if this is an attribute of a name that the module imports, wherever it stands
// (codegen.c: is_import_originated).
bool is_of_import(const Unit& unit, NodeId attribute) {
  const NodeId value = unit.tree.as<ast::Attribute>(attribute).value;
  if (!unit.features.modules_have_no_methods || !unit.tree.is(value, Kind::Name)) return false;
  const Entry* of_module = unit.symbols[ScopeId(0u)].find(unit.tree.as<ast::Name>(value).id);
  return of_module != nullptr && (of_module->use & kImported) != 0;
}

// Pushes the dictionary of keyword arguments without `**`.
void keyword_part(Unit& unit, std::span<const NodeId> keywords) {
  const auto count = static_cast<uint32_t>(keywords.size());
  const bool big = unit.features.limits_stack && keywords.size() * 2 > kMostOnStack;
  const auto key_of = [&](NodeId keyword) {
    return unit.constants.text(unit.module.text(unit.tree.as<ast::keyword>(keyword).arg));
  };
  if (count > 1 && !big && !unit.features.maps_have_pairs) {
    std::vector<ConstId> names;
    for (NodeId keyword : keywords) {
      expression(unit, unit.tree.as<ast::keyword>(keyword).value);
      names.push_back(key_of(keyword));
    }
    load(unit, unit.constants.tuple(names));
    return unit.emit.op(Op::BuildConstKeyMap, count);
  }
  if (big) unit.emit.op(Op::BuildMap, 0);
  for (NodeId keyword : keywords) {
    load(unit, key_of(keyword));
    expression(unit, unit.tree.as<ast::keyword>(keyword).value);
    if (big) unit.emit.op(Op::MapAdd, 1);
  }
  if (!big) unit.emit.op(Op::BuildMap, count);
}

// Calls by CALL or CALL_KW. `slots`: the number of stack slots of the callee.
void call_directly(Unit& unit, std::span<const NodeId> args, std::span<const NodeId> keywords,
                   const std::vector<Symbol>& injected, uint32_t pushed, uint32_t slots) {
  for (NodeId arg : args) expression(unit, arg);
  for (Symbol name : injected) load_name(unit, name);
  const auto positional = pushed + static_cast<uint32_t>(args.size() + injected.size());
  if (keywords.empty()) return unit.emit.op(Op::Call, positional, slots);
  std::vector<ConstId> names;
  for (NodeId keyword : keywords) {
    const auto part = unit.tree.as<ast::keyword>(keyword);
    expression(unit, part.value);
    names.push_back(unit.constants.text(unit.module.text(part.arg)));
  }
  load(unit, unit.constants.tuple(names));
  unit.emit.op(Op::CallKw, positional + static_cast<uint32_t>(keywords.size()), slots);
}

// The same in 3.8, which unpacks all arguments at once.
void call_unpacked_38(Unit& unit, std::span<const NodeId> args, std::span<const NodeId> keywords,
                      uint32_t pushed) {
  uint32_t parts = 0;
  uint32_t pending = pushed;
  const auto tuple = [&] {
    if (pending == 0) return;
    build_tuple(unit, pending);
    ++parts;
    pending = 0;
  };
  for (NodeId arg : args) {
    if (unit.tree.is(arg, Kind::Starred)) {
      tuple();
      expression(unit, unit.tree.as<ast::Starred>(arg).value);
      ++parts;
    } else {
      expression(unit, arg);
      ++pending;
    }
  }
  tuple();
  if (parts > 1) unit.emit.op(Op::BuildTupleUnpackWithCall, parts);
  if (parts == 0) build_tuple(unit, 0);
  if (keywords.empty()) return unit.emit.op(Op::CallEx, 0, 1);
  parts = 0;
  size_t first = 0;
  for (size_t i = 0; i <= keywords.size(); ++i) {
    const bool unpacks =
        i < keywords.size() && !unit.tree.as<ast::keyword>(keywords[i]).arg.valid();
    if (i < keywords.size() && !unpacks) continue;
    if (i > first) {
      keyword_part(unit, keywords.subspan(first, i - first));
      ++parts;
    }
    if (unpacks) {
      expression(unit, unit.tree.as<ast::keyword>(keywords[i]).value);
      ++parts;
    }
    first = i + 1;
  }
  if (parts > 1) unit.emit.op(Op::BuildMapUnpackWithCall, parts);
  unit.emit.op(Op::CallEx, 1, 1);
}

// Calls by CALL_FUNCTION_EX.
void call_unpacked(Unit& unit, std::span<const NodeId> args, std::span<const NodeId> keywords,
                   const std::vector<Symbol>& injected, uint32_t pushed) {
  if (!unit.features.extends_containers) return call_unpacked_38(unit, args, keywords, pushed);
  if (pushed == 0 && args.size() == 1 && unit.tree.is(args[0], Kind::Starred)) {
    expression(unit, unit.tree.as<ast::Starred>(args[0]).value);
  } else if (injected.empty()) {
    sequence(unit, Display::Tuple, args, pushed);
  } else {
    unit.emit.op(Op::BuildList, pushed);
    for (NodeId arg : args) {
      const bool is_starred = unit.tree.is(arg, Kind::Starred);
      expression(unit, is_starred ? unit.tree.as<ast::Starred>(arg).value : arg);
      unit.emit.op(is_starred ? Op::ListExtend : Op::ListAppend, 1);
    }
    for (Symbol name : injected) {
      load_name(unit, name);
      unit.emit.op(Op::ListAppend, 1);
    }
    unit.emit.op(Op::ListToTuple);
  }
  const uint32_t slots = unit.features.callee_slots();
  if (keywords.empty()) {
    if (!unit.features.passes_no_keywords) return unit.emit.op(Op::CallEx, 0, slots);
    unit.emit.op(Op::PushNull);
    return unit.emit.op(Op::CallEx, 1, slots);
  }
  bool have = false;
  size_t pending = 0;
  const auto flush = [&](size_t end) {
    keyword_part(unit, keywords.subspan(end - pending, pending));
    if (have) unit.emit.op(Op::DictMerge, 1);
    have = true;
    pending = 0;
  };
  for (size_t i = 0; i < keywords.size(); ++i) {
    const auto part = unit.tree.as<ast::keyword>(keywords[i]);
    if (part.arg.valid()) {
      ++pending;
      continue;
    }
    if (pending > 0) flush(i);
    if (!have) unit.emit.op(Op::BuildMap, 0);
    have = true;
    expression(unit, part.value);
    unit.emit.op(Op::DictMerge, 1);
  }
  if (pending > 0) flush(keywords.size());
  unit.emit.op(Op::CallEx, 1, slots);
}

}  // namespace

void call(Unit& unit, uint32_t arguments) {
  const Features& features = unit.features;
  const bool has_two_slots =
      features.callees_have_two_slots && (arguments > 0 || !features.null_before_callee);
  // The first argument takes the place of the NULL.
  if (arguments == 0) {
    null_after_callee(unit);
  } else if (has_two_slots) {
    --arguments;
  }
  unit.emit.op(Op::Call, arguments, has_two_slots ? 2 : 1);
}

void null_before_callee(Unit& unit) {
  if (unit.features.null_before_callee) unit.emit.op(Op::PushNull);
}

void null_after_callee(Unit& unit) {
  const bool is_above = unit.features.callees_have_two_slots && !unit.features.null_before_callee;
  if (is_above) unit.emit.op(Op::PushNull);
}

void call_with(Unit& unit, std::span<const NodeId> args, std::span<const NodeId> keywords,
               const std::vector<Symbol>& injected, uint32_t pushed) {
  if (are_large(unit, args, keywords, injected.size())) {
    return call_unpacked(unit, args, keywords, injected, pushed);
  }
  call_directly(unit, args, keywords, injected, pushed, unit.features.callee_slots());
}

bool is_method_call(const Unit& unit, const ast::Call& call) {
  const auto args = unit.tree.items(call.args), keywords = unit.tree.items(call.keywords);
  if (!unit.tree.is(call.func, Kind::Attribute) || is_of_import(unit, call.func)) return false;
  if (are_unpacked(unit, args, keywords)) return false;
  if (!keywords.empty() && !unit.features.methods_with_keywords) return false;
  // Another limit than that of other calls (codegen.c: maybe_optimize_method_call).
  const size_t slots = args.size() + keywords.size() + (keywords.empty() ? 0 : 1);
  return !unit.features.limits_stack || slots < kMostOnStack;
}

void call_method(Unit& unit, const ast::Call& call) {
  call_directly(unit, unit.tree.items(call.args), unit.tree.items(call.keywords), {}, 0, 2);
}

bool super_attribute(Unit& unit, NodeId value, Symbol attr, Op load) {
  if (!unit.features.super_attributes || !unit.tree.is(value, Kind::Call)) return false;
  const auto call = unit.tree.as<ast::Call>(value);
  if (!unit.tree.is(call.func, Kind::Name) ||
      unit.tree.text(unit.tree.as<ast::Name>(call.func).id) != "super") {
    return false;
  }
  const Symbol super = unit.symbol("super");
  const Entry* here = unit.scope.find(super);
  if (here == nullptr || here->binding != Binding::GlobalImplicit || !unit.scope.is_function()) {
    return false;
  }
  if (unit.tree.text(attr) == "__class__") return false;
  // A module that uses the name `super` may rebind it.
  if (unit.symbols[ScopeId(0u)].find(super) != nullptr) return false;
  const auto args = unit.tree.items(call.args);
  if (!unit.tree.items(call.keywords).empty()) return false;
  if (args.size() == 2) {
    if (unit.tree.is(args[0], Kind::Starred) || unit.tree.is(args[1], Kind::Starred)) return false;
    expression(unit, call.func);
    expression(unit, args[0]);
    expression(unit, args[1]);
    unit.emit.op(Op::LoadSuper, 1);
  } else {
    const Entry* cell = unit.scope.find(unit.symbol("__class__"));
    const bool is_plain = args.empty() && unit.first_argument.valid() && cell != nullptr &&
                          cell->binding == Binding::Free;
    const object::Code& code = unit.module[unit.code];
    if (!is_plain || code.argcount == 0) return false;
    expression(unit, call.func);
    unit.emit.op(Op::LoadDeref, unit.symbol("__class__").value);
    const Entry* self = unit.scope.find(unit.first_argument);
    const bool is_cell = self != nullptr && self->binding == Binding::Cell;
    unit.emit.op(is_cell ? Op::LoadDeref : Op::LoadFast, unit.first_argument.value);
    unit.emit.op(Op::LoadSuper, 0);
  }
  unit.emit.op(load, unit.mangled(attr).value);
  return true;
}

}  // namespace pellucid::verify::lower
