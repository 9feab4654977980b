#include "object/fitting_names.h"

#include <algorithm>
#include <array>
#include <unordered_set>

#include "object/identifiers.h"
#include "object/utf8.h"

namespace pellucid::object {

namespace {

// What compilers name `.0` and `.type_params` is folded away; an import may have no name.
bool is_writable(std::string_view text) {
  return text.empty() || text[0] == '.' || is_dotted(text);
}

// A slot is a local, a cell or both, or a free variable. One name may be a local and free: that of
// an inlined comprehension is, beside that of its surroundings.
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
  if (names.size() < 2) return false;
  std::unordered_set<Symbol> seen;
  return !std::all_of(names.begin(), names.end(),
                      [&](Symbol name) { return seen.insert(name).second; });
}

// Whether a local and a cell that is another variable have one name. An argument that is a cell has
// one slot since 3.11; before, its name is in both lists.
bool has_local_like_cell(const Code& code) {
  if (code.cellvars.empty()) return false;
  std::unordered_set<Symbol> others;
  if (code.version.minor < 11) {
    const size_t arguments = size_t{code.argcount} + code.kwonlyargcount +
                             ((code.flags & kVarArgs) != 0) + ((code.flags & kVarKeywords) != 0);
    for (size_t i = arguments; i < code.varnames.size(); ++i) others.insert(code.varnames[i]);
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

class Fitting {
 public:
  Fitting(Module& module, std::unordered_map<std::string, std::string>& known)
      : module_(module), known_(known) {}

  FittingNames run() {
    for (size_t i = 0; i < module_.codes.size(); ++i) {
      Code& code = module_.codes[i];
      has_any_ = false;
      for (auto* names :
           {&code.names, &code.varnames, &code.cellvars, &code.freevars, &code.localsplus}) {
        for (Symbol& name : *names) fit(name);
      }
      if (has_namesakes(code)) tell_apart(code);
      if (has_any_) found_.codes.push_back(CodeId(i));
    }
    return std::move(found_);
  }

 private:
  void fit(Symbol& name) {
    if (is_writable(module_.text(name))) return;
    const std::string text(module_.text(name));
    has_any_ = true;
    Symbol& given = given_[text];
    if (!given.valid()) {
      given = given_to(text);
      found_.names.emplace_back(given, name);
    }
    name = given;
  }

  Symbol given_to(const std::string& text) {
    std::string& given = known_[text];
    if (given.empty() || module_.strings.find(given).valid()) {
      given = unused(as_identifier(text));
    }
    return module_.strings.intern(given);
  }

  std::string unused(const std::string& stem) const {
    std::string name = stem;
    for (int n = 1; module_.strings.find(name).valid(); ++n) name = stem + "_" + std::to_string(n);
    return name;
  }

  // Names that are each another's in one list are names of different variables.
  void tell_apart(std::vector<Symbol>& names) {
    std::unordered_set<Symbol> seen;
    for (Symbol& name : names) {
      if (seen.insert(name).second) continue;
      const Symbol other = module_.strings.intern(unused(std::string(module_.text(name))));
      found_.names.emplace_back(other, name);
      name = other;
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
    has_any_ = true;
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
      const Symbol other = module_.strings.intern(unused(std::string(module_.text(name))));
      found_.names.emplace_back(other, name);
      name = other;
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
  FittingNames found_;
  std::unordered_map<std::string, Symbol> given_;
  bool has_any_ = false;
};

}  // namespace

bool has_namesakes(const Code& code) {
  return has_doubled(code.varnames) || has_doubled(code.cellvars) || has_doubled(code.freevars) ||
         has_local_like_cell(code);
}

FittingNames fit_names(Module& module, std::unordered_map<std::string, std::string>& known) {
  return Fitting(module, known).run();
}

}  // namespace pellucid::object
