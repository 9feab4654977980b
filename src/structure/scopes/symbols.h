// SPDX-License-Identifier: Apache-2.0
// structure: what the instructions of a code object say about its names.
#pragma once

#include <algorithm>
#include <vector>

#include "ir/function.h"

namespace pellucid::structure {

enum class ScopeKind : uint8_t { Module, Class, Function, Comprehension, Lambda, TypeParameters };

struct Symbols {
  std::vector<Symbol> globals;         // to be declared `global`
  std::vector<Symbol> nonlocals;       // to be declared `nonlocal`
  std::vector<Symbol> global_reads;    // read as globals in a function
  std::vector<Symbol> unbound_locals;  // local, though nothing that is left binds them
  std::vector<Symbol> unused_free;     // free, though nothing that is left mentions them
  std::vector<Symbol> passed_on;       // of these, what a class has under the name itself
  std::vector<Symbol> looked_up;       // by name in a class, though nothing that is left binds them
  std::vector<Symbol> unused_cells;    // cells, though nothing that is left captures them
  std::vector<Symbol> late_cells;      // instead, where a comprehension has looked one up before
  std::vector<Symbol> hidden_cells;    // used, and a local of a comprehension that is not left
  std::vector<Symbol> unbound_cells;   // of these, what nothing that is left even mentions
  bool lacks_yield = false;            // a generator, though nothing that is left yields
  bool lacks_await = false;            // an asynchronous comprehension of which nothing left is
  bool sets_up_annotations = false;
  bool lacks_class_dict = false;  // a class with the cell of its dict, though nothing left asks it
  // It has a cell for the set of the annotations that were reached (3.14), which nothing in it
  // takes over.
  bool keeps_reached_set = false;

  void declare_global(Symbol name) { add(globals, name); }
  void declare_nonlocal(Symbol name) { add(nonlocals, name); }

 private:
  static void add(std::vector<Symbol>& names, Symbol name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
};

Symbols symbols_of(const object::Module& module, const ir::Function& function, ScopeKind scope);

}  // namespace pellucid::structure
