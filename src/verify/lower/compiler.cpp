// SPDX-License-Identifier: Apache-2.0
#include "verify/lower/compiler.h"

#include <algorithm>
#include <iterator>

#include "base/check.h"
#include "verify/lower/scope_rules.h"

namespace pellucid::verify::lower {

namespace {

// Returns a module with the same ids of strings and constants, but without code objects.
object::Module without_code(const object::Module& from) {
  object::Module made;
  made.version = from.version;
  for (size_t i = 0; i < from.strings.size(); ++i) made.strings.intern(from.text(Symbol(i)));
  made.consts = from.consts;
  made.make_room();
  return made;
}

constexpr const char* kShared =
    "a name that one inlined comprehension binds and another one does not";

}  // namespace

Compiler::Compiler(const Tree& tree, Lowered& out, Symbols& symbols)
    : tree_(tree), out_(out), symbols_(symbols), features_(features_of(out.module.version)) {
  none_ = add(object::ConstKind::None);
}

void Compiler::run(NodeId root) {
  misspelt_ = misspelt(tree_, root);
  object::Code header;
  out_.module.root = compile_unit(symbols_.scope_of(root), text("<module>"), header, [&] {
    // The function of the annotations is emitted first.
    const Label annotations = emit().reserve();
    make_conditional_set();
    body_with_docstring(tree_.as<ast::Module>(root).body, false);
    emit().write_at(annotations, [&] { lazy_annotations(); });
  });
}

std::string Compiler::qualname_of(ScopeId scope, Symbol name, const std::string& owner) const {
  std::string own(out_.module.text(name));
  size_t outer = units_.size();
  if (outer == 0) return own;
  const Unit* parent = units_[--outer];
  // The value of a type alias counts as a function in qualified names (3.12, 3.13).
  const NodeId alias = symbols_[parent->scope].node;
  const bool in_alias = !features_.lazy_annotations && alias.valid() &&
                        tree_.is(alias, Kind::TypeAlias) &&
                        symbols_.scope_of(alias) == parent->scope;
  if (symbols_[parent->scope].kind == ScopeKind::Annotation && !in_alias) {
    if (outer == 0) return own;
    parent = units_[--outer];
    // CPython stops at the module, and drops the owner.
    if (outer == 0) return own;
  }
  own.insert(0, owner);
  const Scope& around = symbols_[parent->scope];
  if (around.kind == ScopeKind::Module) return own;
  const ScopeKind kind = symbols_[scope].kind;
  if (kind == ScopeKind::Function || kind == ScopeKind::Class) {
    const Entry* entry = around.find(symbols_.mangle(name, parent->scope));
    if (entry != nullptr && entry->binding == Binding::GlobalExplicit) return own;
  }
  const bool has_locals =
      in_alias || around.kind == ScopeKind::Function || around.kind == ScopeKind::Lambda;
  return parent->qualname + (has_locals ? ".<locals>." : ".") + own;
}

CodeId Compiler::compile_unit(ScopeId scope, Symbol name, object::Code header,
                              const std::function<void()>& body, const std::string& owner) {
  if (const auto known = codes_.find(scope); known != codes_.end()) return known->second;
  const CodeId id(out_.module.codes.size());
  codes_.emplace(scope, id);
  Unit unit(features_);
  unit.scope = scope;
  unit.code = id;
  unit.qualname = qualname_of(scope, name, owner);
  if (!header.varnames.empty()) unit.first_argument = header.varnames[0];
  header.version = out_.module.version;
  header.name = name;
  header.qualname = features_.qualname_in_code ? text(unit.qualname) : name;
  out_.module.codes.push_back(std::move(header));
  out_.graphs.emplace_back();
  out_.problems.emplace_back();
  qualnames_.push_back(unit.qualname);
  units_.push_back(&unit);
  const uint32_t nesting = nesting_, walruses = walruses_;
  try {
    body();
    if (unit.emit.live()) {
      load_none();
      unit.emit.give_back();
    }
    for (Symbol cell : unit.extra_cells) {
      const auto& shared = unit.shared;
      if (std::find(shared.begin(), shared.end(), cell) != shared.end()) give_up(kShared);
    }
    out_.graphs[id.index()] = unit.emit.finish(id);
  } catch (const NotLowered& problem) {
    out_.problems[id.index()] = "relowering: " + problem.what;
  } catch (const InternalError& bug) {
    out_.problems[id.index()] = std::string("relowering: ") + bug.what();
  }
  const std::string broken = broken_rule(symbols_, scope);
  if (!broken.empty() && out_.problems[id.index()].empty()) {
    out_.problems[id.index()] = "relowering: " + broken;
  }
  const auto fault = misspelt_.find(symbols_[scope].node);
  if (fault != misspelt_.end() && out_.problems[id.index()].empty()) {
    out_.problems[id.index()] = "relowering: " + fault->second;
  }
  nesting_ = nesting;
  walruses_ = walruses;
  units_.pop_back();
  describe(unit);
  return id;
}

// Sets the variables and flags, which follow from the scope.
void Compiler::describe(const Unit& unit) {
  object::Code& code = out_.module.codes.edit(unit.code);
  const Scope& scope = symbols_[unit.scope];
  for (const Entry& entry : scope.entries) {
    const bool is_parameter = (entry.use & kParameter) != 0;
    if (entry.binding == Binding::Cell) code.cellvars.push_back(entry.name);
    if (entry.binding == Binding::Local && !is_parameter && scope.is_function()) {
      code.varnames.push_back(entry.name);
    }
    const bool passes = entry.binding == Binding::Free || (entry.use & kHandedOn);
    const bool owns = entry.binding == Binding::Cell;
    if (passes && !owns && scope.kind != ScopeKind::Module) code.freevars.push_back(entry.name);
  }
  const auto add_missing = [](std::vector<Symbol>& to, Symbol name) {
    if (std::find(to.begin(), to.end(), name) == to.end()) to.push_back(name);
  };
  if (scope.needs_class_cell) add_missing(code.cellvars, text("__class__"));
  if (scope.needs_class_dictionary) add_missing(code.cellvars, text("__classdict__"));
  if (scope.needs_conditional_set) {
    add_missing(code.cellvars, text("__conditional_annotations__"));
  }
  for (Symbol name : unit.extra_locals) add_missing(code.varnames, name);
  for (Symbol name : unit.extra_cells) add_missing(code.cellvars, name);
  std::sort(code.freevars.begin(), code.freevars.end(),
            [&](Symbol a, Symbol b) { return out_.module.text(a) < out_.module.text(b); });
  for (Symbol name : unit.late_free) add_missing(code.freevars, name);
  if (scope.is_function()) {
    code.flags |= object::kOptimized | object::kNewLocals;
    if (scope.is_nested) code.flags |= object::kNested;
    const bool is_method = scope.kind != ScopeKind::Annotation && scope.parent.valid() &&
                           symbols_[scope.parent].kind == ScopeKind::Class;
    if (features_.flags_docstrings_and_methods && is_method) code.flags |= object::kMethod;
    if (scope.is_generator) {
      code.flags |= scope.is_coroutine ? object::kAsyncGenerator : object::kGenerator;
    } else if (scope.is_coroutine) {
      code.flags |= object::kCoroutine;
    }
  }
  if (features_.no_free_flag && code.cellvars.empty() && code.freevars.empty())
    code.flags |= object::kNoFree;
  code.flags |= symbols_.future_flags();
  code.nlocals = static_cast<uint32_t>(code.varnames.size());
  object::derive_localsplus(code);
  const uint32_t suspends = object::kGenerator | object::kCoroutine | object::kAsyncGenerator;
  out_.graphs[unit.code.index()].wraps_stop_iteration =
      features_.wraps_stop_iteration && (code.flags & suspends) && scope.kind != ScopeKind::Lambda;
}

ConstId Compiler::add(object::ConstKind kind) {
  object::Const made;
  made.kind = kind;
  return out_.module.add(std::move(made));
}

ConstId Compiler::string_constant(std::string_view value) {
  const auto [it, is_new] = strings_.try_emplace(std::string(value), ConstId());
  if (is_new) {
    object::Const made;
    made.kind = object::ConstKind::Str;
    made.text = text(value);
    it->second = out_.module.add(std::move(made));
  }
  return it->second;
}

ConstId Compiler::tuple_constant(const std::vector<ConstId>& items) {
  object::Const made;
  made.kind = object::ConstKind::Tuple;
  made.items = items;
  return out_.module.add(std::move(made));
}

void Compiler::load(ConstId id) {
  object::Code& code = out_.module.codes.edit(unit().code);
  if (unit().first_is_docstring && code.consts.empty()) code.consts = {id};
  emit().op(Op::LoadConst, id.value);
}

void Compiler::load_number(int64_t value) {
  object::Const made;
  made.kind = object::ConstKind::Int;
  made.integer = value;
  load(out_.module.add(std::move(made)));
}

void Compiler::await(uint32_t kind) {
  emit().op(Op::GetAwaitable, features_.says_why_it_awaits ? kind : 0);
  load_none();
  emit().op(Op::YieldFrom);
}

// -- names -------------------------------------------------------------------------------------

// Returns true if the first of the inlined comprehensions in the scope that has the name binds it.
bool Compiler::is_bound_first(const Scope& scope, Symbol name) const {
  for (const ScopeId inner : scope.inlined_inside) {
    const Scope& comprehension = symbols_[inner];
    const auto& order = comprehension.order;
    if (std::find(order.begin(), order.end(), name) == order.end()) continue;
    return std::any_of(comprehension.kept.begin(), comprehension.kept.end(),
                       [&](const Kept& one) { return one.name == name; });
  }
  return false;
}

void Compiler::name(Symbol id, Use use) {
  const Symbol name = mangled(id);
  const auto write = [&](Op load, Op store, Op erase) {
    emit().op(use == Use::Load ? load : use == Use::Store ? store : erase, name.value);
  };
  const auto fast = [&] { write(Op::LoadFast, Op::StoreFast, Op::DeleteFast); };
  const auto deref = [&] { write(Op::LoadDeref, Op::StoreDeref, Op::DeleteDeref); };
  const auto global = [&] { write(Op::LoadGlobal, Op::StoreGlobal, Op::DeleteGlobal); };
  const auto by_name = [&] { write(Op::LoadName, Op::StoreName, Op::DeleteName); };
  const std::vector<ScopeId>& inlined = unit().inlined;
  for (size_t i = inlined.size(); i-- > 0;) {
    const Scope& around = symbols_[inlined[i]];
    if (around.binds(name)) {
      return around.find(name)->binding == Binding::Cell ? deref() : fast();
    }
    // 3.12 confuses it with the variable of a nested comprehension, if that is the first to use it.
    const bool is_shared =
        features_.mixes_inlined_names &&
        std::any_of(around.kept.begin(), around.kept.end(),
                    [&](const Kept& one) { return one.name == name && one.scope != inlined[i]; });
    if (is_shared) give_up(kShared);
    const Entry* own = around.find(name);
    if (own != nullptr && (own->use & kLent)) return own->cell ? deref() : fast();
  }
  const Scope& here = scope();
  if (!inlined.empty() && here.kind == ScopeKind::Class) {
    const Entry* entry = symbols_[inlined[0]].find(name);
    return entry != nullptr && entry->binding == Binding::Free ? deref() : global();
  }
  const Entry* entry = here.find(name);
  // The same in the body of a function. In a module the variable is local only within its own
  // comprehension, unless it is a cell.
  const bool is_lifted = !inlined.empty() && entry != nullptr && (entry->use & kLifted) != 0;
  if (features_.mixes_inlined_names && is_lifted && here.bound_inside.contains(name)) {
    // If the first use only reads a global, all releases of 3.12 agree.
    if (here.is_function()) {
      const bool is_global = entry->binding == Binding::GlobalImplicit;
      if (!is_global || is_bound_first(here, name)) give_up(kShared);
    } else {
      unit().shared.push_back(name);
    }
  }
  const Binding binding = entry == nullptr ? Binding::GlobalImplicit : entry->binding;
  const auto from_class_dictionary = [&](Op op) {
    emit().op(Op::LoadDeref, text("__classdict__").value);
    emit().op(op, name.value);
  };
  const bool sees_class =
      here.in_class && use == Use::Load && out_.module.text(name) != "__classdict__";
  switch (binding) {
    case Binding::Local:
      return here.is_function() ? fast() : by_name();
    case Binding::Cell:
      if (sees_class) return from_class_dictionary(Op::LoadFromDictOrDeref);
      return deref();
    case Binding::Free:
      if (sees_class) return from_class_dictionary(Op::LoadFromDictOrDeref);
      if (here.kind != ScopeKind::Class || use != Use::Load) return deref();
      if (!features_.class_dictionary_first) return emit().op(Op::LoadClassDeref, name.value);
      emit().op(Op::LoadLocals);
      return emit().op(Op::LoadFromDictOrDeref, name.value);
    case Binding::GlobalExplicit: {
      // 3.13 resolves a name by the entry of an inlined comprehension before that of its module.
      const bool is_undeclared = std::any_of(inlined.begin(), inlined.end(), [&](ScopeId inner) {
        const Entry* own = symbols_[inner].find(name);
        return own != nullptr && !(own->use & kGlobal);
      });
      const bool asks_name =
          features_.module_asks_inlined && here.kind == ScopeKind::Module && is_undeclared;
      return asks_name ? by_name() : global();
    }
    case Binding::GlobalImplicit:
      if (sees_class) return from_class_dictionary(Op::LoadFromDictOrGlobals);
      return here.is_function() ? global() : by_name();
  }
}

void Compiler::load_closure(Symbol name) { emit().op(Op::LoadClosure, name.value); }

}  // namespace pellucid::verify::lower

namespace pellucid::verify {

Lowered relower(const ast::Tree& tree, ast::NodeId root) {
  Lowered out;
  out.module = lower::without_code(tree.module());
  lower::Symbols symbols(tree, out.module, root);
  lower::Compiler(tree, out, symbols).run(root);
  return out;
}

}  // namespace pellucid::verify
