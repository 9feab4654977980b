// SPDX-License-Identifier: Apache-2.0
// Names that code has and no source can write: a generator may call a variable `@py_assert1`, as
// pytest does, or an attribute `class`; code that was made by hand may have two variables of one
// name, or functions without any.
//
// This is the one place that gives others. What is given is an identifier for which the module has
// no other use, the same wherever the name stands; Module::names_given has all of them. The names
// of the tables are given when a module was read (fit_names), those that only constants have when
// the tree of the text is whole (ast/fitting.h).
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "object/code.h"

namespace pellucid::object {

// Where a text has a name.
enum class Place : uint8_t {
  Variable,   // bound or looked up: a parameter, a keyword, an alias, a class, a type parameter,
              // what an import takes from a module too
  Attribute,  // after a dot
  Target,     // after a dot, in what is assigned to or deleted
  Module,     // of an import: identifiers with dots between them
  Code,       // what a code object is called
};

// Returns true if a text can have the name there and means just that name.
bool may_stand(std::string_view name, Place place);

// Returns the name, or what is given in its stead where it cannot stand.
Symbol fit_name(Module& module, Symbol name, Place place);

// Returns what was given in the stead of the name so far; the name itself, if nothing was.
Symbol as_given(const Module& module, Symbol name);

// Escapes in the names of a module what a reader could not see: for listings, which have one
// instruction a line, whatever the names are.
void escape_names(Module& module);

// Returns true if two locals, two cells or two free variables have one name.
bool has_namesakes(const Code& code);

struct Fitted {
  std::vector<CodeId> codes;    // those whose own names or variables are others now
  std::vector<CodeId> holders;  // those that make a function of such a code object, or have a name
                                // that cannot stand everywhere
};

// Returns true if fit_names(module, …) would change nothing and find nothing.
bool has_fitting_names(const Module& module);

// Gives each name in the tables that no source can write another one, each variable whose name
// another one has a name of its own, and each function without a name of Python's one. What a
// compiler makes stays: `.0`, `<lambda>`, and `a.b` and nothing in an import. `known` has names
// given before, by the names that were, and gets those given now. `live` is a code object of which
// the variables are not folded away, whatever they are called: `.0` is a parameter of its `def`.
Fitted fit_names(Module& module, std::unordered_map<std::string, std::string>& known,
                 CodeId live = {});

}  // namespace pellucid::object
