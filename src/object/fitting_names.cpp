// SPDX-License-Identifier: Apache-2.0
#include "object/fitting_names.h"

#include <algorithm>
#include <array>
#include <unordered_set>

#include "object/identifiers.h"
#include "object/repr.h"
#include "object/utf8.h"

namespace pellucid::object {

namespace {

// Returns true if a name in a table may be kept. The compiler's `.0` and `.type_params` do not
// reach the text; an import may have no name. The place of a name in a table is not known yet, so
// names that fit some place are kept.
bool may_stay(std::string_view text) { return text.empty() || text[0] == '.' || is_dotted(text); }

// Returns true for names of functions without a `def`.
bool is_compilers_own(std::string_view name) {
  return name == "<lambda>" || is_comprehension_name(name) ||
         name.starts_with("<generic parameters of ");
}

bool is_taken(const Module& module, const std::string& name) {
  return module.strings.find(name).valid() || !may_stand(name, Place::Variable);
}

// Returns an identifier similar to `text` that the module does not use.
std::string unused(Module& module, std::string_view text) {
  // Avoids private names of classes.
  const std::string stem = as_identifier(text == "__debug__" ? "debug" : text);
  if (!is_taken(module, stem)) return stem;
  uint32_t& number = module.names_given.last_of_stem[stem];
  std::string name;
  do {
    name = stem + "_" + std::to_string(++number);
  } while (is_taken(module, name));
  return name;
}

Symbol give(Module& module, Symbol before, const std::string& name) {
  const Symbol given = module.strings.intern(name);
  module.names_given.pairs.push_back({given, before});
  return given;
}

// A slot is a local, a cell or both, or a free variable. One name may be a local of an inlined
// comprehension and a free variable of the enclosing code.
enum class List : uint8_t { Locals, Cells, Free };

bool is_in_list(LocalKind kind, List list) {
  switch (kind) {
    case LocalKind::Local:
    case LocalKind::Hidden:
      return list == List::Locals;
    case LocalKind::CellLocal:
      return list != List::Free;
    case LocalKind::Cell:
      return list == List::Cells;
    case LocalKind::Free:
      return list == List::Free;
  }
  return false;
}

constexpr std::array kLists = {List::Locals, List::Cells, List::Free};

bool has_doubled(const std::vector<Symbol>& names) {
  constexpr size_t kFew = 12;
  if (names.size() <= kFew) {
    for (size_t i = 1; i < names.size(); ++i) {
      const auto end = names.begin() + static_cast<std::ptrdiff_t>(i);
      if (std::find(names.begin(), end, names[i]) != end) return true;
    }
    return false;
  }
  std::vector<Symbol> sorted = names;
  std::sort(sorted.begin(), sorted.end());
  return std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end();
}

// Returns true if a local and a cell are different variables with the same name. An argument that
// is a cell has one slot since 3.11; before, its name is in both lists.
bool has_local_like_cell(const Code& code) {
  if (code.cellvars.empty()) return false;
  std::unordered_set<Symbol> others;
  if (code.version.minor < 11) {
    for (size_t i = parameter_count(code); i < code.varnames.size(); ++i)
      others.insert(code.varnames[i]);
    return std::any_of(code.cellvars.begin(), code.cellvars.end(),
                       [&](Symbol name) { return others.contains(name); });
  }
  const size_t count = std::min(code.localsplus.size(), code.localspluskinds.size());
  for (size_t i = 0; i < count; ++i) {
    if (code.localspluskinds[i] == LocalKind::Cell) others.insert(code.localsplus[i]);
  }
  return std::any_of(code.varnames.begin(), code.varnames.end(),
                     [&](Symbol name) { return others.contains(name); });
}

// Calls `visit` with each name of the code object's tables, and whether it may be that of a
// variable of the live code object. Nested code refers to these variables by their new names; a
// nested `.0` is a different variable.
template <typename AnyCode, typename Visit>
void for_each_name(AnyCode& code, bool is_live, const Visit& visit) {
  for (auto& name : code.names) visit(name, false);
  for (auto* names : {&code.varnames, &code.cellvars}) {
    for (auto& name : *names) visit(name, is_live);
  }
  for (auto& name : code.freevars) visit(name, true);
  for (size_t i = 0; i < code.localsplus.size(); ++i) {
    const bool is_free =
        i < code.localspluskinds.size() && code.localspluskinds[i] == LocalKind::Free;
    visit(code.localsplus[i], is_live || is_free);
  }
}

// Returns true if no text can give the code object its name. A module needs no name; a class body
// is named by its class.
bool is_called_badly(const Module& module, CodeId id) {
  const Code& code = module[id];
  const std::string_view name = module.text(code.name);
  const bool is_function = (code.flags & kOptimized) != 0;
  return id != module.root && is_function && !is_compilers_own(name) &&
         !may_stand(name, Place::Code);
}

class Fitting {
 public:
  Fitting(Module& module, std::unordered_map<std::string, std::string>& known, CodeId live)
      : module_(module), known_(known), live_(live) {}

  Fitted run() {
    if (live_.valid()) fit_variables(module_[live_]);
    for (size_t i = 0; i < module_.codes.size(); ++i) {
      const CodeId id(i);
      const bool has_odd = fit_tables(id);
      const bool has_doubled = has_namesakes(module_.codes[i]);
      if (has_doubled) tell_apart(module_.codes.edit(id));
      if (has_odd || has_doubled) is_renamed_.insert(id);
      const auto& names = module_.codes[i].names;
      const Symbol debug = module_.strings.find("__debug__");
      if (debug.valid() && std::find(names.begin(), names.end(), debug) != names.end()) {
        found_.holders.push_back(id);
      }
    }
    // Their names may also be names of variables.
    for (size_t i = 0; i < module_.codes.size(); ++i) fit_own(CodeId(i));
    find_holders();
    found_.codes.assign(is_renamed_.begin(), is_renamed_.end());
    std::sort(found_.codes.begin(), found_.codes.end());
    return std::move(found_);
  }

 private:
  // Replaces the unspellable names of the code object's tables; returns true if there were any.
  bool fit_tables(CodeId id) {
    const bool is_live = id == live_;
    bool has_odd = false;
    for_each_name(module_[id], is_live, [&](Symbol name, bool may_be_live) {
      has_odd = has_odd || is_odd(name, may_be_live);
    });
    if (!has_odd) return false;
    for_each_name(module_.codes.edit(id), is_live, [&](Symbol& name, bool may_be_live) {
      if (is_odd(name, may_be_live)) name = given_to(name);
    });
    return true;
  }

  bool is_odd(Symbol name, bool may_be_live) const {
    const bool is_given = may_be_live && as_given(module_, name) != name;
    return is_given || !may_stay(module_.text(name));
  }

  Symbol given_to(Symbol name) {
    const Symbol before = as_given(module_, name);
    if (before != name) return before;
    const std::string text(module_.text(name));
    std::string& known = known_[text];
    if (known.empty() || module_.strings.find(known).valid()) known = unused(module_, text);
    const Symbol given = give(module_, name, known);
    module_.names_given.by_name.emplace(name, given);
    return given;
  }

  void fit_variables(const Code& code) {
    for (const auto* names : {&code.varnames, &code.cellvars, &code.freevars}) {
      for (const Symbol name : *names) {
        if (!is_identifier(module_.text(name))) given_to(name);
      }
    }
  }

  void fit_own(CodeId id) {
    if (live_.valid() || !is_called_badly(module_, id)) return;
    const Code& code = module_[id];
    is_renamed_.insert(id);
    is_called_otherwise_.insert(id);
    const Symbol known = as_given(module_, code.name);
    if (known != code.name) {
      module_.codes.edit(id).name = known;
      return;
    }
    const auto [at, is_new] = own_.try_emplace(code.name);
    if (is_new) {
      at->second = give(module_, code.name, unused(module_, module_.text(code.name)));
      module_.names_given.of_code.insert(at->second);
    }
    module_.codes.edit(id).name = at->second;
  }

  void find_holders() {
    if (is_called_otherwise_.empty()) return;
    for (size_t i = 0; i < module_.codes.size(); ++i) {
      const auto& consts = module_.codes[i].consts;
      const bool holds = std::any_of(consts.begin(), consts.end(), [&](ConstId id) {
        return module_[id].kind == ConstKind::Code &&
               is_called_otherwise_.contains(module_[id].code);
      });
      if (holds) found_.holders.push_back(CodeId(i));
    }
  }

  // Renames all but the first of equal names in one list, which are different variables.
  void tell_apart(std::vector<Symbol>& names) {
    std::unordered_set<Symbol> seen;
    for (Symbol& name : names) {
      if (seen.insert(name).second) continue;
      name = give(module_, name, unused(module_, module_.text(name)));
    }
  }

  void rename_cells_like_locals(Code& code) {
    std::vector<Symbol> taken = code.varnames;
    const size_t locals = taken.size();
    taken.insert(taken.end(), code.cellvars.begin(), code.cellvars.end());
    tell_apart(taken);
    std::copy(taken.begin() + static_cast<std::ptrdiff_t>(locals), taken.end(),
              code.cellvars.begin());
  }

  void tell_apart(Code& code) {
    if (code.version.minor < 11) {
      for (auto* names : {&code.varnames, &code.cellvars, &code.freevars}) tell_apart(*names);
      if (has_local_like_cell(code)) rename_cells_like_locals(code);
      return derive_localsplus(code);
    }
    std::array<std::unordered_set<Symbol>, kLists.size()> seen;
    const size_t count = std::min(code.localsplus.size(), code.localspluskinds.size());
    for (size_t i = 0; i < count; ++i) {
      Symbol& name = code.localsplus[i];
      bool is_taken = false;
      for (const List list : kLists) {
        const LocalKind kind = code.localspluskinds[i];
        const bool is_like_local = kind == LocalKind::Cell && list == List::Locals;
        if (!is_in_list(kind, list) && !is_like_local) continue;
        is_taken |= !seen[static_cast<size_t>(list)].insert(name).second;
      }
      if (!is_taken) continue;
      name = give(module_, name, unused(module_, module_.text(name)));
    }
    code.varnames.clear();
    code.cellvars.clear();
    code.freevars.clear();
    for (size_t i = 0; i < count; ++i) {
      const LocalKind kind = code.localspluskinds[i];
      if (is_in_list(kind, List::Locals)) code.varnames.push_back(code.localsplus[i]);
      if (is_in_list(kind, List::Cells)) code.cellvars.push_back(code.localsplus[i]);
      if (is_in_list(kind, List::Free)) code.freevars.push_back(code.localsplus[i]);
    }
  }

  Module& module_;
  std::unordered_map<std::string, std::string>& known_;
  CodeId live_;
  Fitted found_;
  std::unordered_map<Symbol, Symbol> own_;  // names of functions -> replacements
  std::unordered_set<CodeId> is_renamed_;
  std::unordered_set<CodeId> is_called_otherwise_;
};

}  // namespace

bool may_stand(std::string_view name, Place place) {
  switch (place) {
    case Place::Module:
      return is_dotted(name) && name.substr(0, name.find('.')) != "__debug__";
    case Place::Attribute:
      return is_identifier(name);
    case Place::Code:
    case Place::Variable:
    case Place::Target:
      return is_identifier(name) && name != "__debug__";
  }
  return false;
}

Symbol fit_name(Module& module, Symbol name, Place place) {
  if (may_stand(module.text(name), place)) return name;
  const Symbol known = as_given(module, name);
  if (known != name) return known;
  const Symbol given = give(module, name, unused(module, module.text(name)));
  module.names_given.by_name.emplace(name, given);
  return given;
}

Symbol as_given(const Module& module, Symbol name) {
  const auto known = module.names_given.by_name.find(name);
  return known == module.names_given.by_name.end() ? name : known->second;
}

void escape_names(Module& module) {
  const auto escape = [&](Symbol& name) {
    if (name.valid()) name = module.strings.intern(on_one_line(module.text(name)));
  };
  for (size_t i = 0; i < module.codes.size(); ++i) {
    Code& code = module.codes.edit(CodeId(i));
    for (auto* names :
         {&code.names, &code.varnames, &code.cellvars, &code.freevars, &code.localsplus}) {
      for (Symbol& name : *names) escape(name);
    }
    for (Symbol* name : {&code.name, &code.qualname, &code.filename}) escape(*name);
  }
}

bool has_namesakes(const Code& code) {
  return has_doubled(code.varnames) || has_doubled(code.cellvars) || has_doubled(code.freevars) ||
         has_local_like_cell(code);
}

bool has_fitting_names(const Module& module) {
  if (module.strings.find("__debug__").valid()) return false;
  bool fits = true;
  std::vector<uint8_t> may(module.strings.size());  // by name: 1 if it may stay
  for (size_t i = 0; i < module.codes.size() && fits; ++i) {
    for_each_name(module.codes[i], false, [&](Symbol name, bool) {
      if (!fits || (name.index() < may.size() && may[name.index()] != 0)) return;
      fits = may_stay(module.text(name));
      may[name.index()] = fits ? 1 : 0;
    });
    fits = fits && !has_namesakes(module.codes[i]) && !is_called_badly(module, CodeId(i));
  }
  return fits;
}

Fitted fit_names(Module& module, std::unordered_map<std::string, std::string>& known, CodeId live) {
  module.names_given.are_live = live.valid();
  return Fitting(module, known, live).run();
}

}  // namespace pellucid::object
