// SPDX-License-Identifier: Apache-2.0
#include "verify/lower/names.h"

#include <algorithm>

namespace pellucid::verify::lower {

namespace {

constexpr const char* kShared =
    "a name that one inlined comprehension binds and another one does not";

enum class Access : uint8_t { Load, Store, Delete };

// Returns true if the first of the inlined comprehensions in the scope that has the name binds it.
bool is_bound_first(const Unit& unit, Symbol name) {
  for (const ScopeId inner : unit.scope.inlining().inlined_inside) {
    const Inlining& comprehension = unit.symbols[inner].inlining();
    const auto& order = comprehension.order;
    if (std::find(order.begin(), order.end(), name) == order.end()) continue;
    return std::any_of(comprehension.kept.begin(), comprehension.kept.end(),
                       [&](const Kept& one) { return one.name == name; });
  }
  return false;
}

// Emits the instructions that load, store or delete a name.
void access(Unit& unit, Symbol id, Access way) {
  const Symbol name = unit.mangled(id);
  const auto write = [&](Op load, Op store, Op erase) {
    unit.emit.op(way == Access::Load ? load : way == Access::Store ? store : erase, name.value);
  };
  const auto fast = [&] { write(Op::LoadFast, Op::StoreFast, Op::DeleteFast); };
  const auto deref = [&] { write(Op::LoadDeref, Op::StoreDeref, Op::DeleteDeref); };
  const auto global = [&] { write(Op::LoadGlobal, Op::StoreGlobal, Op::DeleteGlobal); };
  const auto by_name = [&] { write(Op::LoadName, Op::StoreName, Op::DeleteName); };
  const std::vector<ScopeId>& inlined = unit.inlined;
  for (size_t i = inlined.size(); i-- > 0;) {
    const Scope& around = unit.symbols[inlined[i]];
    if (around.binds(name)) {
      return around.find(name)->binding == Binding::Cell ? deref() : fast();
    }
    // 3.12 confuses it with the variable of a nested comprehension, if that is the first to use it.
    const bool is_shared =
        unit.features.mixes_inlined_names &&
        std::any_of(around.inlining().kept.begin(), around.inlining().kept.end(),
                    [&](const Kept& one) { return one.name == name && one.scope != inlined[i]; });
    if (is_shared) give_up(kShared);
    const Entry* own = around.find(name);
    if (own != nullptr && (own->use & kLent)) return own->cell ? deref() : fast();
  }
  const Scope& here = unit.scope;
  if (!inlined.empty() && here.kind == ScopeKind::Class) {
    const Entry* entry = unit.symbols[inlined[0]].find(name);
    return entry != nullptr && entry->binding == Binding::Free ? deref() : global();
  }
  const Entry* entry = here.find(name);
  // The same in the body of a function. In a module the variable is local only within its own
  // comprehension, unless it is a cell.
  const bool is_lifted = !inlined.empty() && entry != nullptr && (entry->use & kLifted) != 0;
  if (unit.features.mixes_inlined_names && is_lifted &&
      here.inlining().bound_inside.contains(name)) {
    // If the first use only reads a global, all releases of 3.12 agree.
    if (here.is_function()) {
      const bool is_global = entry->binding == Binding::GlobalImplicit;
      if (!is_global || is_bound_first(unit, name)) give_up(kShared);
    } else {
      unit.shared.push_back(name);
    }
  }
  const Binding binding = entry == nullptr ? Binding::GlobalImplicit : entry->binding;
  const auto from_class_dictionary = [&](Op op) {
    unit.emit.op(Op::LoadDeref, unit.symbol("__classdict__").value);
    unit.emit.op(op, name.value);
  };
  const bool sees_class =
      here.in_class && way == Access::Load && unit.module.text(name) != "__classdict__";
  switch (binding) {
    case Binding::Local:
      return here.is_function() ? fast() : by_name();
    case Binding::Cell:
      if (sees_class) return from_class_dictionary(Op::LoadFromDictOrDeref);
      return deref();
    case Binding::Free:
      if (sees_class) return from_class_dictionary(Op::LoadFromDictOrDeref);
      if (here.kind != ScopeKind::Class || way != Access::Load) return deref();
      if (!unit.features.class_dictionary_first)
        return unit.emit.op(Op::LoadClassDeref, name.value);
      unit.emit.op(Op::LoadLocals);
      return unit.emit.op(Op::LoadFromDictOrDeref, name.value);
    case Binding::GlobalExplicit: {
      // 3.13 resolves a name by the entry of an inlined comprehension before that of its module.
      const bool is_undeclared = std::any_of(inlined.begin(), inlined.end(), [&](ScopeId inner) {
        const Entry* own = unit.symbols[inner].find(name);
        return own != nullptr && !(own->use & kGlobal);
      });
      const bool asks_name =
          unit.features.module_asks_inlined && here.kind == ScopeKind::Module && is_undeclared;
      return asks_name ? by_name() : global();
    }
    case Binding::GlobalImplicit:
      if (sees_class) return from_class_dictionary(Op::LoadFromDictOrGlobals);
      return here.is_function() ? global() : by_name();
  }
}

}  // namespace

void load_name(Unit& unit, Symbol name) { access(unit, name, Access::Load); }
void store_name(Unit& unit, Symbol name) { access(unit, name, Access::Store); }
void delete_name(Unit& unit, Symbol name) { access(unit, name, Access::Delete); }
void load_name(Unit& unit, std::string_view name) { load_name(unit, unit.symbol(name)); }
void store_name(Unit& unit, std::string_view name) { store_name(unit, unit.symbol(name)); }

void unbind(Unit& unit, Symbol name) {
  load_none(unit);
  store_name(unit, name);
  delete_name(unit, name);
}

void load_closure(Unit& unit, Symbol name) { unit.emit.op(Op::LoadClosure, name.value); }

void check_shared_names(const Unit& unit) {
  const auto& shared = unit.shared;
  for (const Symbol cell : unit.extra_cells) {
    if (std::find(shared.begin(), shared.end(), cell) != shared.end()) give_up(kShared);
  }
}

}  // namespace pellucid::verify::lower
