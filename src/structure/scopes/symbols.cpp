// SPDX-License-Identifier: Apache-2.0
#include "structure/scopes/symbols.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "object/identifiers.h"
#include "structure/scopes/blocks.h"

namespace pellucid::structure {

using bytecode::Op;
using object::Code;

namespace {

// The ways in which a name is used.
enum Use : uint32_t {
  kFastLoad = 1 << 0,
  kLent = 1 << 1,         // loaded in a comprehension, and hidden by an earlier one
  kFastBinding = 1 << 2,  // stored or deleted, but not by an inlined comprehension
  kCellBinding = 1 << 3,
  kHiddenCell = 1 << 4,  // stored by an inlined comprehension
  kCellMention = 1 << 5,
  kHidden = 1 << 6,    // saved by an inlined comprehension
  kCaptured = 1 << 7,  // free in a nested function that is made, or a cell taken as a value
  kGlobalLoad = 1 << 8,
  kOuterGlobalLoad = 1 << 9,  // not by an inlined comprehension
  kGlobalBinding = 1 << 10,
  kNameUse = 1 << 11,        // by LOAD_NAME, STORE_NAME, DELETE_NAME
  kNameBinding = 1 << 12,    // by STORE_NAME, DELETE_NAME
  kOuterNameLoad = 1 << 13,  // by LOAD_NAME, but not by an inlined comprehension
  kLookup = 1 << 14,         // by an inlined comprehension, by name or as a global
  kFree = 1 << 15,           // a free variable of the code
  kFreeInNested = 1 << 16,   // a free variable of a function that is made here
  kParameter = 1 << 17,
};

// The names that are used in each way, over all instructions.
struct Uses {
  explicit Uses(NameUses& names) : of(names) {}

  NameUses& of;
  bool mentions_super = false;
  bool yields = false;
  bool awaits = false;
  bool sets_up_annotations = false;
  OrderClues order;
};

// `is_outer`: the instruction is in no inlined comprehension that hides a name.
[[gnu::always_inline]] inline void add_use(const object::Module& module,
                                           const ir::Function& function, const ir::Value& value,
                                           bool is_outer, Uses& uses) {
  switch (value.op) {
    case Op::LoadFast:
      uses.of.add(value.symbol(), kFastLoad);
      break;
    case Op::StoreFast:
    case Op::DeleteFast:
      uses.of.add(value.symbol(), kFastBinding);
      break;
    case Op::StoreDeref:
    case Op::DeleteDeref:
      uses.of.add(value.symbol(), kCellBinding | kCellMention);
      break;
    case Op::LoadDeref:
    case Op::LoadClassDeref:
    case Op::LoadFromDictOrDeref:
      uses.of.add(value.symbol(), kCellMention);
      break;
    case Op::MakeCell:
      // The cell of an inlined comprehension.
      if (uses.of.has(value.symbol(), kHidden)) uses.of.add(value.symbol(), kCaptured);
      break;
    case Op::LoadClosure:
      uses.of.add(value.symbol(), kCellMention | kCaptured);
      break;
    case Op::LoadGlobal:
      if (value.b == 1) break;  // the name was not written
      uses.of.add(value.symbol(), is_outer ? kGlobalLoad | kOuterGlobalLoad : kGlobalLoad);
      uses.mentions_super |= module.text(value.symbol()) == "super";
      break;
    case Op::LoadSuper:
      uses.mentions_super = true;
      break;
    case Op::StoreName:
    case Op::DeleteName:
      uses.of.add(value.symbol(), kNameUse | kNameBinding);
      break;
    case Op::LoadName:
      uses.of.add(value.symbol(), is_outer ? kNameUse | kOuterNameLoad : kNameUse);
      break;
    case Op::StoreGlobal:
    case Op::DeleteGlobal:
      uses.of.add(value.symbol(), kGlobalBinding);
      break;
    case Op::YieldValue:
      uses.yields = true;
      break;
    case Op::GetAnext:
    case Op::GetAwaitable:
      uses.awaits = true;
      break;
    case Op::YieldFrom: {
      // `await` and `async for` compile to it too, but make no generator.
      const ir::Value& iterator = function[function.operands(value)[0]];
      uses.yields |= !is_op(iterator, Op::GetAwaitable, Op::GetAnext);
      break;
    }
    case Op::SetupAnnotations:
      uses.sets_up_annotations = true;
      break;
    case Op::BuildSlice:
    case Op::LoadConst:
    case Op::MakeFunction:
    case Op::UnpackSequence:
      uses.order.note(module, function, value);
      break;
    default:
      break;
  }
}

// The ranges in which a local belongs to an inlined comprehension: from where it is saved to where
// it is first restored.
class HiddenLocals {
 public:
  explicit HiddenLocals(const ir::Function& function) {
    for (const ir::Value& value : function.values) {
      if (!is_op(value, Op::StoreFast)) continue;
      const ir::Value& saved = function[function.operands(value)[0]];
      if (!is_op(saved, Op::LoadFastAndClear)) continue;
      auto& end = ranges_[saved.symbol()].try_emplace(saved.offset, value.offset).first->second;
      end = std::min(end, value.offset);
      restored_.insert(&value);
    }
    // A nested comprehension hides the same name again.
    for (auto& [name, ranges] : ranges_) {
      for (auto outer = ranges.begin(); outer != ranges.end();) {
        const auto inner = std::next(outer);
        const bool is_inside = inner != ranges.end() && inner->first < outer->second;
        if (is_inside) ranges.erase(inner);
        if (!is_inside) outer = inner;
      }
    }
  }

  // Returns true if no comprehension hides a local.
  bool empty() const { return ranges_.empty(); }

  // Returns true if the instruction on a local belongs to a comprehension.
  bool contain(const ir::Value& value) const {
    if (value.op == Op::LoadFastAndClear || restored_.contains(&value)) return true;
    const auto ranges = ranges_.find(value.symbol());
    if (ranges == ranges_.end()) return false;
    const auto next = ranges->second.upper_bound(value.offset);
    return next != ranges->second.begin() && value.offset <= std::prev(next)->second;
  }

  // Returns true if 3.12 takes a name in an inlined comprehension that does not bind it for the
  // variable of an earlier one.
  bool lend(const ir::Value& value) const {
    if (value.op != Op::LoadFast || !surround(value)) return false;
    const auto ranges = ranges_.find(value.symbol());
    return ranges != ranges_.end() && ranges->second.begin()->first < value.offset;
  }

  // Returns true if the instruction is within a comprehension that hides a name.
  bool surround(const ir::Value& value) const {
    return std::any_of(ranges_.begin(), ranges_.end(), [&](const auto& ranges) {
      const auto next = ranges.second.upper_bound(value.offset);
      return next != ranges.second.begin() && value.offset <= std::prev(next)->second;
    });
  }

 private:
  std::unordered_map<Symbol, std::map<uint32_t, uint32_t>> ranges_;  // start -> end
  std::unordered_set<const ir::Value*> restored_;
};

bool uses_a_local(const ir::Value& value) {
  return value.op == Op::LoadFast || value.op == Op::StoreFast || value.op == Op::DeleteFast ||
         value.op == Op::LoadFastAndClear || value.op == Op::StoreDeref;
}

// Notes what an instruction of a body with inlined comprehensions uses. Returns true if that is
// not what it would be elsewhere.
bool add_use_of_inlined(const HiddenLocals& hidden, const ir::Value& value, Uses& uses) {
  if (value.op == Op::LoadFastAndClear) uses.of.add(value.symbol(), kHidden);
  if (uses_a_local(value) && hidden.contain(value)) {
    if (value.op == Op::StoreDeref) uses.of.add(value.symbol(), kHiddenCell);
    return true;
  }
  if (hidden.lend(value)) {
    uses.of.add(value.symbol(), kLent);
    return true;
  }
  const bool looks_up = value.op == Op::LoadName || value.op == Op::LoadGlobal;
  if (looks_up && hidden.surround(value)) uses.of.add(value.symbol(), kLookup);
  return false;
}

void add_uses_with_inlined(const object::Module& module, const ir::Function& function, Uses& uses) {
  const HiddenLocals hidden(function);
  for (const ir::Value& value : function.values) {
    if (value.kind != ir::ValueKind::Instr || add_use_of_inlined(hidden, value, uses)) continue;
    add_use(module, function, value, hidden.empty() || !hidden.surround(value), uses);
  }
}

// Returns false at the first inlined comprehension, which few bodies have.
bool add_uses(const object::Module& module, const ir::Function& function, Uses& uses) {
  for (const ir::Value& value : function.values) {
    if (value.kind != ir::ValueKind::Instr) continue;
    if (value.op == Op::LoadFastAndClear) return false;
    add_use(module, function, value, true, uses);
  }
  return true;
}

Uses uses_of(const object::Module& module, const ir::Function& function, NameUses& names) {
  names.clear();
  Uses uses(names);
  if (!add_uses(module, function, uses)) {
    names.clear();
    uses.order = OrderClues();
    add_uses_with_inlined(module, function, uses);
  }
  for (const ir::Block& block : function.blocks) uses.yields |= block.exit == ir::ExitKind::Send;
  return uses;
}

}  // namespace

void sort_by_text(const object::Module& module, std::vector<Symbol>& names) {
  if (names.size() < 2) return;
  std::sort(names.begin(), names.end(),
            [&](Symbol a, Symbol b) { return module.text(a) < module.text(b); });
}

namespace {

// Sorts names by where the code mentions them first: so most code declares them.
void sort_by_use(const ir::Function& function, std::vector<Symbol>& names) {
  if (names.size() < 2) return;
  std::unordered_map<Symbol, uint32_t> first;
  for (const ir::Value& value : function.values) {
    const bool mentions = value.op == Op::LoadGlobal || value.op == Op::StoreGlobal ||
                          value.op == Op::DeleteGlobal || value.op == Op::LoadDeref ||
                          value.op == Op::StoreDeref || value.op == Op::DeleteDeref;
    if (value.kind != ir::ValueKind::Instr || !mentions) continue;
    const auto known = first.try_emplace(value.symbol(), value.offset).first;
    known->second = std::min(known->second, value.offset);
  }
  const auto at = [&](Symbol name) { return first.contains(name) ? first.at(name) : UINT32_MAX; };
  std::stable_sort(names.begin(), names.end(), [&](Symbol a, Symbol b) { return at(a) < at(b); });
}

// Returns the names that are used in one of these ways, and in none of the others.
std::vector<Symbol> used(const NameUses& names, uint32_t ways, uint32_t others) {
  std::vector<Symbol> list;
  if ((names.any() & ways) == 0) return list;
  for (const Symbol name : names.all()) {
    if (names.has(name, ways) && !names.has(name, others)) list.push_back(name);
  }
  return list;
}

// The same, in the order of their texts.
std::vector<Symbol> sorted(const object::Module& module, const NameUses& names, uint32_t ways,
                           uint32_t others = 0) {
  std::vector<Symbol> list = used(names, ways, others);
  sort_by_text(module, list);
  return list;
}

// Adds the free variables of the nested functions made here. (A class body takes its `__class__`
// as a value whether or not one of them has it.)
void add_free_of_nested(const object::Module& module, const ir::Function& function,
                        NameUses& names) {
  for (const ir::Value& value : function.values) {
    if (!is_op(value, Op::MakeFunction)) continue;
    for (const ir::ValueId operand : function.operands(value)) {
      const ir::Value& code = function[operand];
      if (!is_op(code, Op::LoadConst)) continue;
      const object::Const& constant = module[code.constant()];
      if (constant.kind != object::ConstKind::Code) continue;
      for (const Symbol name : module[constant.code].freevars) names.add(name, kFreeInNested);
    }
  }
}

// Returns true if a function is made for which compilers that delay annotations add an annotation
// scope, empty or not; such a scope in a class makes a cell of the class's dict.
bool defines_function(const object::Module& module, const ir::Function& function) {
  if (!function.habits.delays_annotations) return false;
  return std::any_of(function.values.begin(), function.values.end(), [&](const ir::Value& value) {
    if (!is_op(value, Op::LoadConst)) return false;
    const object::Const& constant = module[value.constant()];
    return constant.kind == object::ConstKind::Code &&
           (module[constant.code].flags & object::kOptimized) != 0 &&
           !module.text(module[constant.code].name).starts_with('<');
  });
}

// Returns true if a nested function reads the name, but not as a variable.
bool reads_as_global(const object::Module& module, const Code& code, Symbol name) {
  std::vector<const Code*> todo{&code};
  while (!todo.empty()) {
    const Code& outer = *todo.back();
    todo.pop_back();
    for (const object::ConstId id : outer.consts) {
      if (module[id].kind != object::ConstKind::Code) continue;
      const Code& inner = module[module[id].code];
      if (std::find(inner.names.begin(), inner.names.end(), name) != inner.names.end()) return true;
      todo.push_back(&inner);
    }
  }
  return false;
}

// Returns true if a text can mention the name: not for the compiler's own cells and free variables.
bool can_be_mentioned(std::string_view name) {
  return object::is_identifier(name) && name != "__classdict__" &&
         name != "__conditional_annotations__";
}

// Returns the names that a body has to declare `global`.
std::vector<Symbol> globals_of(const object::Module& module, const NameUses& names,
                               ScopeKind scope) {
  // Classes and modules read names by LOAD_NAME unless they are declared; only an inlined
  // comprehension in a class does not.
  if (scope == ScopeKind::Module) return sorted(module, names, kGlobalBinding | kGlobalLoad);
  std::vector<Symbol> globals;
  const uint32_t any =
      scope == ScopeKind::Class ? kOuterGlobalLoad | kGlobalBinding : kGlobalBinding;
  if ((names.any() & any) == 0) return globals;
  for (const Symbol name : names.all()) {
    const bool is_read = scope == ScopeKind::Class && names.has(name, kOuterGlobalLoad) &&
                         !names.has(name, kNameUse);
    if (is_read || names.has(name, kGlobalBinding)) globals.push_back(name);
  }
  sort_by_text(module, globals);
  return globals;
}

// Adds the locals and cells of a function that its text would not have.
void add_locals(const object::Module& module, const Code& code, NameUses& names, Symbols& symbols) {
  const size_t args = parameter_count(code);
  for (size_t i = 0; i < std::min(args, code.varnames.size()); ++i)
    names.add(code.varnames[i], kParameter);
  constexpr uint32_t kBound = kFastBinding | kCellBinding | kHiddenCell | kParameter;
  // Binding a lent name makes it a plain local, but then it would also be the cell of a function
  // that reads a global of that name.
  const auto is_lent = [&](Symbol name) {
    return names.has(name, kLent) && !reads_as_global(module, code, name);
  };
  for (const Symbol name : code.varnames) {
    if (names.has(name, kBound)) continue;
    if (names.has(name, kFastLoad) || is_lent(name)) symbols.unbound_locals.push_back(name);
  }
  for (const Symbol name : code.cellvars) {
    if (names.has(name, kBound) || !can_be_mentioned(module.text(name))) continue;
    const bool is_mentioned = names.has(name, kCellMention);
    (is_mentioned ? symbols.unbound_locals : symbols.unbound_cells).push_back(name);
  }
  for (size_t i = args; i < code.localsplus.size(); ++i) {
    const Symbol name = code.localsplus[i];
    const bool was_local = code.localspluskinds[i] == object::LocalKind::CellLocal;
    if (was_local && names.has(name, kCaptured) && !names.has(name, kHidden)) {
      symbols.hidden_cells.push_back(name);
    }
  }
}

}  // namespace

Symbols symbols_of(const object::Module& module, const ir::Function& function, ScopeKind scope,
                   NameUses& names) {
  const Code& code = module[function.code];
  const Uses uses = uses_of(module, function, names);
  Symbols symbols;
  symbols.sets_up_annotations = uses.sets_up_annotations;
  symbols.may_need_order = uses.order.may_need_order();
  for (const Symbol name : code.freevars) names.add(name, kFree);

  symbols.globals = globals_of(module, names, scope);
  for (const Symbol name : sorted(module, names, kCellBinding)) {
    // A class in a class has two sets of reached annotations: it binds its own.
    const bool is_set = module.text(name) == "__conditional_annotations__";
    if (names.has(name, kFree) && !is_set) symbols.nonlocals.push_back(name);
  }
  sort_by_use(function, symbols.globals);
  sort_by_use(function, symbols.nonlocals);
  if (scope != ScopeKind::Class && scope != ScopeKind::Module) {
    symbols.global_reads = used(names, kGlobalLoad, kGlobalBinding);
  }

  for (const Symbol name : code.freevars) {
    const std::string_view text = module.text(name);
    if (names.has(name, kCellMention) || !can_be_mentioned(text)) continue;
    if (text == "__class__" && uses.mentions_super) continue;
    // A name that a class binds, or looks up by name, is free only for the scopes nested in it.
    const bool is_own = scope == ScopeKind::Class && names.has(name, kNameUse);
    (is_own ? symbols.passed_on : symbols.unused_free).push_back(name);
  }
  if (scope == ScopeKind::Class) {
    symbols.looked_up = sorted(module, names, kOuterNameLoad, kNameBinding);
    add_free_of_nested(module, function, names);
  }
  const uint32_t captured = scope == ScopeKind::Class ? kFreeInNested : kCaptured;
  for (const Symbol name : code.cellvars) {
    if (names.has(name, captured)) continue;
    if (can_be_mentioned(module.text(name))) symbols.unused_cells.push_back(name);
    if (module.text(name) == "__classdict__")
      symbols.lacks_class_dict = !defines_function(module, function);
    if (module.text(name) == "__conditional_annotations__") symbols.keeps_reached_set = true;
  }
  // The first of several comprehensions decides the scope of a name that the code around them does
  // not mention: after a cell it would be read as one. The cells stay together, in their order.
  const auto is_looked_up = [&](Symbol name) { return names.has(name, kLookup); };
  if (scope <= ScopeKind::Class &&
      std::any_of(symbols.unused_cells.begin(), symbols.unused_cells.end(), is_looked_up)) {
    symbols.late_cells.swap(symbols.unused_cells);
  }
  if (scope != ScopeKind::Module && scope != ScopeKind::Class) {
    add_locals(module, code, names, symbols);
    const bool is_generator = (code.flags & (object::kGenerator | object::kAsyncGenerator)) != 0;
    const bool is_async = (code.flags & (object::kCoroutine | object::kAsyncGenerator)) != 0;
    symbols.lacks_await = is_async && !uses.awaits && scope == ScopeKind::Comprehension;
    symbols.lacks_yield = is_generator && !uses.yields && scope != ScopeKind::Comprehension;
  }
  return symbols;
}

}  // namespace pellucid::structure
