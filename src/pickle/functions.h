// SPDX-License-Identifier: Apache-2.0
// pickle: the functions that a graph makes of its code objects, with what surrounds their code.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "pickle/graph.h"

namespace pellucid::pickle {

struct Function {
  ValueId code, name, qualname, module, doc;
  ValueId defaults, kwdefaults, closure, globals, annotations;
};

// What is stored in cells after they are made: dill sets `cell_contents`.
using CellContents = std::unordered_map<uint32_t, ValueId>;

struct Functions {
  std::vector<Function> list;
  CellContents cells;
};

// Returns the functions, whichever library made them: a call whose first argument is a code object,
// with the attributes that other calls and BUILD add. `codes` says which values are code objects.
Functions functions_of(Graph& graph, const std::unordered_set<uint32_t>& codes);

// The names that a code object gives to the values of its function.
struct VariableNames {
  std::vector<std::string> positional, keyword_only, free;
};

// Returns what surrounds the code of a function: "defaults: y = 2", "closure: n = 4".
std::vector<std::string> about(const Graph& graph, const Functions& functions,
                               const Function& function, const VariableNames& names);

// Returns the qualified name of a function; empty if it has none.
std::string name_of(const Graph& graph, const Function& function);

}  // namespace pellucid::pickle
