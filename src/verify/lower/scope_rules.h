// SPDX-License-Identifier: Apache-2.0
// Conditions for CPython's symbol table (symtable.c) to accept a tree's text: the rules of
// `global`, `nonlocal`, parameters and annotated names.
#pragma once

#include <string>

#include "verify/lower/symbols.h"

namespace pellucid::verify::lower {

// Returns the first rule broken in the scope; empty if none.
std::string broken_rule(const Symbols& symbols, ScopeId scope);

}  // namespace pellucid::verify::lower
