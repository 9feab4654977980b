// SPDX-License-Identifier: Apache-2.0
// structure: the scopes of a code object's names, as its instructions show them.
#pragma once

#include <algorithm>
#include <vector>

#include "ir/function.h"

namespace pellucid::structure {

enum class ScopeKind : uint8_t { Module, Class, Function, Comprehension, Lambda, TypeParameters };

struct Symbols {
  std::vector<Symbol> globals;         // to be declared `global`
  std::vector<Symbol> nonlocals;       // to be declared `nonlocal`
  std::vector<Symbol> global_reads;    // read as globals in a function; in no order
  std::vector<Symbol> unbound_locals;  // local, but no code that is left binds them
  std::vector<Symbol> unused_free;     // free, but no code that is left mentions them
  std::vector<Symbol> passed_on;       // of these, names that a class has itself
  std::vector<Symbol> looked_up;       // by name in a class, but no code that is left binds them
  std::vector<Symbol> unused_cells;    // cells, but no code that is left captures them
  std::vector<Symbol> late_cells;      // the same, if a comprehension looks one of them up
  std::vector<Symbol> hidden_cells;    // used, and also a local of a comprehension that is gone
  std::vector<Symbol> unbound_cells;   // cells that no code that is left binds or mentions
  bool lacks_yield = false;            // a generator, but no code that is left yields
  bool lacks_await = false;  // an asynchronous comprehension, but no code that is left awaits
  bool sets_up_annotations = false;
  bool lacks_class_dict = false;  // a class with a cell for its dict that nothing left uses
  // It has a cell for the set of reached annotations (3.14), which no code that is left captures.
  bool keeps_reached_set = false;
  bool may_need_order = false;  // OrderClues (blocks.h)

  void declare_global(Symbol name) { add(globals, name); }
  void declare_nonlocal(Symbol name) { add(nonlocals, name); }

 private:
  static void add(std::vector<Symbol>& names, Symbol name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
};

// How one code object uses the names of its module: a set of bits for each. To clear it takes time
// in the number of names that are used, so that one serves all code objects.
class NameUses {
 public:
  void add(Symbol name, uint32_t how) {
    if (name.index() >= bits_.size()) bits_.resize(2 * name.index() + 1);
    uint32_t& bits = bits_[name.index()];
    if (bits == 0) names_.push_back(name);
    bits |= how;
    any_ |= how;
  }
  // Returns true if the name is used in one of these ways.
  bool has(Symbol name, uint32_t how) const {
    return name.index() < bits_.size() && (bits_[name.index()] & how) != 0;
  }
  const std::vector<Symbol>& all() const { return names_; }
  // The ways in which some name is used.
  uint32_t any() const { return any_; }
  void clear() {
    for (const Symbol name : names_) bits_[name.index()] = 0;
    names_.clear();
    any_ = 0;
  }

 private:
  std::vector<uint32_t> bits_;  // by Symbol
  std::vector<Symbol> names_;
  uint32_t any_ = 0;
};

void sort_by_text(const object::Module& module, std::vector<Symbol>& names);

// `names`: room for what is counted.
Symbols symbols_of(const object::Module& module, const ir::Function& function, ScopeKind scope,
                   NameUses& names);

}  // namespace pellucid::structure
