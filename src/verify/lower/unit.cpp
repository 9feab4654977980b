// SPDX-License-Identifier: Apache-2.0
#include "verify/lower/unit.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "base/check.h"
#include "verify/lower/names.h"
#include "verify/lower/scope_rules.h"

namespace pellucid::verify::lower {

namespace {

// Returns the qualified name of the code object of a scope in `outer`.
std::string qualname_of(const Unit& outer, ScopeId scope, Symbol name, const std::string& owner) {
  const Symbols& symbols = outer.symbols;
  std::string own(outer.module.text(name));
  const Unit* parent = &outer;
  // The value of a type alias counts as a function in qualified names (3.12, 3.13).
  const NodeId alias = parent->scope.node;
  const bool in_alias = !outer.features.lazy_annotations && alias.valid() &&
                        outer.tree.is(alias, Kind::TypeAlias) &&
                        symbols.scope_of(alias) == parent->scope_id;
  if (parent->scope.kind == ScopeKind::Annotation && !in_alias) {
    parent = parent->outer;
    // CPython stops at the module, and drops the owner.
    if (parent == nullptr || parent->outer == nullptr) return own;
  }
  own.insert(0, owner);
  const Scope& around = parent->scope;
  if (around.kind == ScopeKind::Module) return own;
  const ScopeKind kind = symbols[scope].kind;
  if (kind == ScopeKind::Function || kind == ScopeKind::Class) {
    const Entry* entry = around.find(parent->mangled(name));
    if (entry != nullptr && entry->binding == Binding::GlobalExplicit) return own;
  }
  const bool has_locals =
      in_alias || around.kind == ScopeKind::Function || around.kind == ScopeKind::Lambda;
  return parent->qualname + (has_locals ? ".<locals>." : ".") + own;
}

// Sets the variables and flags, which follow from the scope.
void describe(const Unit& unit) {
  object::Code& code = unit.module.codes.edit(unit.code);
  const Scope& scope = unit.scope;
  const auto add_missing = [](std::vector<Symbol>& to, Symbol name) {
    if (std::find(to.begin(), to.end(), name) == to.end()) to.push_back(name);
  };
  const auto sort = [&](std::vector<Symbol>& names) {
    std::ranges::sort(names, {}, [&](Symbol name) { return unit.module.text(name); });
  };
  std::unordered_set<Symbol> has_slot(code.varnames.begin(), code.varnames.end());
  const auto add_local = [&](Symbol name) {
    if (has_slot.insert(name).second) code.varnames.push_back(name);
  };
  for (const Symbol name : unit.emit.locals()) add_local(name);
  for (const Entry& entry : scope.entries) {
    const bool is_parameter = (entry.use & kParameter) != 0;
    if (entry.binding == Binding::Cell) code.cellvars.push_back(entry.name);
    if (entry.binding == Binding::Local && !is_parameter && scope.is_function()) {
      add_local(entry.name);
    }
    const bool passes = entry.binding == Binding::Free || (entry.use & kHandedOn);
    const bool owns = entry.binding == Binding::Cell;
    if (passes && !owns && scope.kind != ScopeKind::Module) code.freevars.push_back(entry.name);
  }
  sort(code.cellvars);
  for (Symbol name : unit.extra_cells) add_missing(code.cellvars, name);
  if (scope.needs_class_cell) add_missing(code.cellvars, unit.symbol("__class__"));
  if (scope.needs_class_dictionary) add_missing(code.cellvars, unit.symbol("__classdict__"));
  if (scope.needs_conditional_set) {
    add_missing(code.cellvars, unit.symbol("__conditional_annotations__"));
  }
  for (Symbol name : unit.extra_locals) add_local(name);
  sort(code.freevars);
  for (Symbol name : unit.late_free) add_missing(code.freevars, name);
  if (scope.is_function()) {
    code.flags |= object::kOptimized | object::kNewLocals;
    if (scope.is_nested) code.flags |= object::kNested;
    const bool is_method = scope.kind != ScopeKind::Annotation && scope.parent.valid() &&
                           unit.symbols[scope.parent].kind == ScopeKind::Class;
    if (unit.features.flags_docstrings_and_methods && is_method) code.flags |= object::kMethod;
    if (scope.is_generator) {
      code.flags |= scope.is_coroutine ? object::kAsyncGenerator : object::kGenerator;
    } else if (scope.is_coroutine) {
      code.flags |= object::kCoroutine;
    }
  }
  if (unit.features.no_free_flag && code.cellvars.empty() && code.freevars.empty())
    code.flags |= object::kNoFree;
  code.flags |= unit.symbols.future_flags();
  code.nlocals = static_cast<uint32_t>(code.varnames.size());
  object::derive_localsplus(code);
  const uint32_t suspends = object::kGenerator | object::kCoroutine | object::kAsyncGenerator;
  unit.program.lowered.graphs[unit.code.index()].wraps_stop_iteration =
      unit.features.wraps_stop_iteration && (code.flags & suspends) &&
      scope.kind != ScopeKind::Lambda;
}

// Returns why nothing is proven of the finished unit's scope; empty if all is well.
std::string broken_in(const Unit& unit) {
  const std::string broken = broken_rule(unit.symbols, unit.scope_id);
  if (!broken.empty()) return broken;
  const auto fault = unit.program.misspelt.find(unit.scope.node);
  return fault == unit.program.misspelt.end() ? std::string() : fault->second;
}

CodeId compile(Program& program, Unit* outer, ScopeId scope, Symbol name, object::Code&& header,
               const Body& body, const std::string& owner) {
  if (const auto known = program.codes.find(scope); known != program.codes.end()) {
    return known->second;
  }
  Lowered& out = program.lowered;
  const CodeId id(out.module.codes.size());
  program.codes.emplace(scope, id);
  Unit unit(program, outer, scope, id);
  unit.qualname = outer == nullptr ? std::string(out.module.text(name))
                                   : qualname_of(*outer, scope, name, owner);
  if (!header.varnames.empty()) unit.first_argument = header.varnames[0];
  header.version = out.module.version;
  header.name = name;
  header.qualname = program.features.qualname_in_code ? unit.symbol(unit.qualname) : name;
  out.module.codes.edit(out.module.codes.add()) = std::move(header);
  out.graphs.emplace_back();
  out.problems.emplace_back();
  program.qualnames.push_back(unit.qualname);
  std::string problem;
  try {
    body(unit);
    if (unit.emit.live()) {
      load_none(unit);
      unit.emit.give_back();
    }
    check_shared_names(unit);
    const auto tuple_of = [&](std::span<const ConstId> items) {
      return unit.constants.tuple({items.begin(), items.end()});
    };
    out.graphs[id.index()] = unit.emit.finish(id, unit.module, tuple_of);
  } catch (const NotLowered& unsupported) {
    problem = unsupported.what;
  } catch (const InternalError& bug) {
    problem = bug.what();
  }
  if (problem.empty()) problem = broken_in(unit);
  if (!problem.empty()) out.problems[id.index()] = "relowering: " + problem;
  describe(unit);
  return id;
}

}  // namespace

Unit::Unit(Program& of, Unit* around, ScopeId id, CodeId made)
    : program(of),
      tree(of.tree),
      module(of.lowered.module),
      symbols(of.symbols),
      features(of.features),
      constants(of.constants),
      outer(around),
      scope_id(id),
      scope(of.symbols[id]),
      code(made),
      emit(of.features),
      nesting(around == nullptr ? 0 : around->nesting),
      walruses(around == nullptr ? 0 : around->walruses) {}

void build_tuple(Unit& unit, uint32_t count) {
  const std::vector<ConstId> items = unit.emit.take_constants(count);
  const bool is_constant = count > 0 ? !items.empty() : unit.features.loads_empty_tuple;
  if (!is_constant) return unit.emit.op(Op::BuildTuple, count);
  unit.emit.op(Op::LoadConst, unit.constants.tuple(items).value);
}

CodeId compile_unit(Unit& outer, ScopeId scope, Symbol name, object::Code&& header,
                    const Body& body, const std::string& owner) {
  return compile(outer.program, &outer, scope, name, std::move(header), body, owner);
}

CodeId compile_module(Program& program, ScopeId scope, const Body& body) {
  const Symbol name = program.lowered.module.strings.intern("<module>");
  return compile(program, nullptr, scope, name, object::Code(), body, {});
}

}  // namespace pellucid::verify::lower
