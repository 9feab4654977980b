// SPDX-License-Identifier: Apache-2.0
// object: replaces names in code that no source can spell. A generator may name a variable
// `@py_assert1`, as pytest does, or an attribute `class`; hand-made code may have two variables
// with one name, or functions without a name.
//
// Only this file makes replacements. A replacement is an identifier that the module does not use
// otherwise, the same for each use of the name; Module::names_given has all of them. Names in
// tables are replaced when a module is read (fit_names), those that only constants have when the
// tree of the text is complete (ast/fitting.h).
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "object/code.h"

namespace pellucid::object {

// The places of names in a text.
enum class Place : uint8_t {
  Variable,   // bound or looked up: also a parameter, a keyword, an alias, a class, a type
              // parameter, an imported member
  Attribute,  // after a dot
  Target,     // after a dot, in a target of an assignment or deletion
  Module,     // of an import: identifiers with dots between them
  Code,       // the name of a code object
};

// Returns true if a text can have the name there, and it means exactly that name.
bool may_stand(std::string_view name, Place place);

// Returns the name, or its replacement if it cannot be there.
Symbol fit_name(Module& module, Symbol name, Place place);

// Returns the replacement of the name so far; the name itself if there is none.
Symbol as_given(const Module& module, Symbol name);

// Escapes invisible characters in the names of a module: for listings, which have one instruction
// on a line, whatever the names are.
void escape_names(Module& module);

// Returns true if two locals, two cells or two free variables have the same name.
bool has_namesakes(const Code& code);

struct Fitted {
  std::vector<CodeId> codes;    // those with replaced names or variables
  std::vector<CodeId> holders;  // those that make a function of such a code object, or have a name
                                // that cannot be everywhere
};

// Returns true if fit_names(module, …) would change nothing and find nothing.
bool has_fitting_names(const Module& module);

// Replaces each name in the tables that no source can spell, the name of each variable that shares
// it with another one, and the name of each function that no `def` can have. Names made by
// compilers are kept: `.0`, `<lambda>`, and `a.b` and the empty name in an import. `known` maps
// original names to earlier replacements, and gets the new ones. `live` is a code object whose
// variables all remain visible: `.0` is a parameter of its `def`.
Fitted fit_names(Module& module, std::unordered_map<std::string, std::string>& known,
                 CodeId live = {});

}  // namespace pellucid::object
