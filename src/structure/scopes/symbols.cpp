// SPDX-License-Identifier: Apache-2.0
#include "structure/scopes/symbols.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include "object/identifiers.h"

namespace pellucid::structure {

using bytecode::Op;
using object::Code;

namespace {

using Names = std::unordered_set<Symbol>;

// The names that are used in each way, over all instructions.
struct Uses {
  Names fast_loads;
  Names lent;           // loaded in a comprehension, and hidden by an earlier one
  Names fast_bindings;  // stored or deleted, but not by an inlined comprehension
  Names cell_bindings;
  Names hidden_cells;  // stored by an inlined comprehension
  Names cell_mentions;
  Names hidden;    // saved by an inlined comprehension
  Names captured;  // free in a nested function that is made, or a cell taken as a value
  Names global_loads;
  Names outer_global_loads;  // not by an inlined comprehension
  Names global_bindings;
  Names name_uses;         // by LOAD_NAME, STORE_NAME, DELETE_NAME
  Names name_bindings;     // by STORE_NAME, DELETE_NAME
  Names outer_name_loads;  // by LOAD_NAME, but not by an inlined comprehension
  Names lookups;           // by an inlined comprehension, by name or as a global
  bool mentions_super = false;
  bool yields = false;
  bool awaits = false;
  bool sets_up_annotations = false;
};

void add_use(const object::Module& module, const ir::Function& function, const ir::Value& value,
             Uses& uses) {
  switch (value.op) {
    case Op::LoadFast:
      uses.fast_loads.insert(value.symbol());
      break;
    case Op::StoreFast:
    case Op::DeleteFast:
      uses.fast_bindings.insert(value.symbol());
      break;
    case Op::StoreDeref:
    case Op::DeleteDeref:
      uses.cell_bindings.insert(value.symbol());
      uses.cell_mentions.insert(value.symbol());
      break;
    case Op::LoadDeref:
    case Op::LoadClassDeref:
    case Op::LoadFromDictOrDeref:
      uses.cell_mentions.insert(value.symbol());
      break;
    case Op::MakeCell:
      // The cell of an inlined comprehension.
      if (uses.hidden.contains(value.symbol())) uses.captured.insert(value.symbol());
      break;
    case Op::LoadClosure:
      uses.cell_mentions.insert(value.symbol());
      uses.captured.insert(value.symbol());
      break;
    case Op::LoadGlobal:
      if (value.b == 1) break;  // the name was not written
      uses.global_loads.insert(value.symbol());
      uses.mentions_super |= module.text(value.symbol()) == "super";
      break;
    case Op::LoadSuper:
      uses.mentions_super = true;
      break;
    case Op::StoreName:
    case Op::DeleteName:
      uses.name_bindings.insert(value.symbol());
      [[fallthrough]];
    case Op::LoadName:
      uses.name_uses.insert(value.symbol());
      break;
    case Op::StoreGlobal:
    case Op::DeleteGlobal:
      uses.global_bindings.insert(value.symbol());
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

Uses uses_of(const object::Module& module, const ir::Function& function) {
  Uses uses;
  const HiddenLocals hidden(function);
  for (const ir::Value& value : function.values) {
    if (value.kind != ir::ValueKind::Instr) continue;
    if (value.op == Op::LoadFastAndClear) uses.hidden.insert(value.symbol());
    if (uses_a_local(value) && hidden.contain(value)) {
      if (value.op == Op::StoreDeref) uses.hidden_cells.insert(value.symbol());
      continue;
    }
    if (hidden.lend(value)) {
      uses.lent.insert(value.symbol());
      continue;
    }
    const bool looks_up = value.op == Op::LoadName || value.op == Op::LoadGlobal;
    if (looks_up && hidden.surround(value)) uses.lookups.insert(value.symbol());
    if (value.op == Op::LoadName && !hidden.surround(value)) {
      uses.outer_name_loads.insert(value.symbol());
    }
    if (value.op == Op::LoadGlobal && value.b != 1 && !hidden.surround(value)) {
      uses.outer_global_loads.insert(value.symbol());
    }
    add_use(module, function, value, uses);
  }
  for (const ir::Block& block : function.blocks) uses.yields |= block.exit == ir::ExitKind::Send;
  return uses;
}

std::vector<Symbol> sorted(const object::Module& module, const Names& names) {
  std::vector<Symbol> list(names.begin(), names.end());
  std::sort(list.begin(), list.end(),
            [&](Symbol a, Symbol b) { return module.text(a) < module.text(b); });
  return list;
}

// Returns the free variables of the nested functions made here. (A class body takes its `__class__`
// as a value whether or not one of them has it.)
Names free_of_nested(const object::Module& module, const ir::Function& function) {
  Names names;
  for (const ir::Value& value : function.values) {
    if (!is_op(value, Op::MakeFunction)) continue;
    for (const ir::ValueId operand : function.operands(value)) {
      const ir::Value& code = function[operand];
      if (!is_op(code, Op::LoadConst)) continue;
      const object::Const& constant = module[code.constant()];
      if (constant.kind != object::ConstKind::Code) continue;
      const auto& free = module[constant.code].freevars;
      names.insert(free.begin(), free.end());
    }
  }
  return names;
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

}  // namespace

Symbols symbols_of(const object::Module& module, const ir::Function& function, ScopeKind scope) {
  const Code& code = module[function.code];
  const Uses uses = uses_of(module, function);
  Symbols symbols;
  symbols.sets_up_annotations = uses.sets_up_annotations;
  const Names free(code.freevars.begin(), code.freevars.end());

  Names globals = uses.global_bindings;
  // Classes and modules read names by LOAD_NAME unless they are declared; only an inlined
  // comprehension in a class does not.
  if (scope == ScopeKind::Module) {
    globals.insert(uses.global_loads.begin(), uses.global_loads.end());
  } else if (scope == ScopeKind::Class) {
    for (const Symbol name : uses.outer_global_loads) {
      if (!uses.name_uses.contains(name)) globals.insert(name);
    }
  }
  symbols.globals = sorted(module, globals);
  for (const Symbol name : sorted(module, uses.cell_bindings)) {
    // A class in a class has two sets of reached annotations: it binds its own.
    const bool is_set = module.text(name) == "__conditional_annotations__";
    if (free.contains(name) && !is_set) symbols.nonlocals.push_back(name);
  }
  if (scope != ScopeKind::Class && scope != ScopeKind::Module) {
    for (const Symbol name : sorted(module, uses.global_loads)) {
      if (!uses.global_bindings.contains(name)) symbols.global_reads.push_back(name);
    }
  }

  for (const Symbol name : code.freevars) {
    const std::string_view text = module.text(name);
    if (uses.cell_mentions.contains(name) || !can_be_mentioned(text)) continue;
    if (text == "__class__" && uses.mentions_super) continue;
    // A name that a class binds, or looks up by name, is free only for the scopes nested in it.
    const bool is_own = scope == ScopeKind::Class && uses.name_uses.contains(name);
    (is_own ? symbols.passed_on : symbols.unused_free).push_back(name);
  }
  if (scope == ScopeKind::Class) {
    for (const Symbol name : sorted(module, uses.outer_name_loads)) {
      if (!uses.name_bindings.contains(name)) symbols.looked_up.push_back(name);
    }
  }
  const Names captured =
      scope == ScopeKind::Class ? free_of_nested(module, function) : uses.captured;
  for (const Symbol name : code.cellvars) {
    if (captured.contains(name)) continue;
    if (can_be_mentioned(module.text(name))) symbols.unused_cells.push_back(name);
    if (module.text(name) == "__classdict__")
      symbols.lacks_class_dict = !defines_function(module, function);
    if (module.text(name) == "__conditional_annotations__") symbols.keeps_reached_set = true;
  }
  // The first of several comprehensions decides the scope of a name that the code around them does
  // not mention: after a cell it would be read as one. The cells stay together, in their order.
  const auto is_looked_up = [&](Symbol name) { return uses.lookups.contains(name); };
  if (scope <= ScopeKind::Class &&
      std::any_of(symbols.unused_cells.begin(), symbols.unused_cells.end(), is_looked_up)) {
    symbols.late_cells.swap(symbols.unused_cells);
  }
  if (scope != ScopeKind::Module && scope != ScopeKind::Class) {
    const size_t args = code.argcount + code.kwonlyargcount +
                        ((code.flags & object::kVarArgs) != 0) +
                        ((code.flags & object::kVarKeywords) != 0);
    Names bound = uses.fast_bindings;
    bound.insert(uses.cell_bindings.begin(), uses.cell_bindings.end());
    bound.insert(uses.hidden_cells.begin(), uses.hidden_cells.end());
    for (size_t i = 0; i < std::min(args, code.varnames.size()); ++i)
      bound.insert(code.varnames[i]);
    // Binding a lent name makes it a plain local, but then it would also be the cell of a function
    // that reads a global of that name.
    const auto is_lent = [&](Symbol name) {
      return uses.lent.contains(name) && !reads_as_global(module, code, name);
    };
    for (const Symbol name : code.varnames) {
      if (bound.contains(name)) continue;
      if (uses.fast_loads.contains(name) || is_lent(name)) symbols.unbound_locals.push_back(name);
    }
    for (const Symbol name : code.cellvars) {
      if (bound.contains(name) || !can_be_mentioned(module.text(name))) continue;
      const bool is_mentioned = uses.cell_mentions.contains(name);
      (is_mentioned ? symbols.unbound_locals : symbols.unbound_cells).push_back(name);
    }
    for (size_t i = args; i < code.localsplus.size(); ++i) {
      const Symbol name = code.localsplus[i];
      const bool was_local = code.localspluskinds[i] == object::LocalKind::CellLocal;
      if (was_local && captured.contains(name) && !uses.hidden.contains(name)) {
        symbols.hidden_cells.push_back(name);
      }
    }
    const bool is_generator = (code.flags & (object::kGenerator | object::kAsyncGenerator)) != 0;
    const bool is_async = (code.flags & (object::kCoroutine | object::kAsyncGenerator)) != 0;
    symbols.lacks_await = is_async && !uses.awaits && scope == ScopeKind::Comprehension;
    symbols.lacks_yield = is_generator && !uses.yields && scope != ScopeKind::Comprehension;
  }
  return symbols;
}

}  // namespace pellucid::structure
