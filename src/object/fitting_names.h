// Names that code has and no source can write: a generator may call a variable `@py_assert1`, as
// pytest does, or an attribute `class`.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "object/code.h"

namespace pellucid::object {

// Whether a name may stand in a source of any Python: keywords may not. What is not ASCII may.
bool is_identifier(std::string_view text);

struct FittingNames {
  std::vector<std::pair<Symbol, Symbol>> names;  // the name that is given, the one that was
  std::vector<CodeId> codes;                     // those that have any of them
};

// Gives each such name of a module's code an identifier for which the module has no other use,
// the same everywhere. What a compiler makes stays: `.0`, and `a.b` and nothing in an import.
// `known` has identifiers given before, by the names that were, and gets those given now.
FittingNames fit_names(Module& module, std::unordered_map<std::string, std::string>& known);

}  // namespace pellucid::object
