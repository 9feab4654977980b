// Names that code has and no source can write: a generator may call a variable `@py_assert1`, as
// pytest does, or an attribute `class`; and code that was made by hand may have two variables of
// one name.
#pragma once

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "object/code.h"

namespace pellucid::object {

struct FittingNames {
  std::vector<std::pair<Symbol, Symbol>> names;  // the name that is given, the one that was
  std::vector<CodeId> codes;                     // those that have any of them
};

// Returns true if two locals, two cells or two free variables have one name.
bool has_namesakes(const Code& code);

// Gives each name that no source can write an identifier for which the module has no other use,
// the same everywhere, and each variable whose name another one has a name of its own. What a
// compiler makes stays: `.0`, and `a.b` and nothing in an import. `known` has identifiers given
// before, by the names that were, and gets those given now.
FittingNames fit_names(Module& module, std::unordered_map<std::string, std::string>& known);

}  // namespace pellucid::object
