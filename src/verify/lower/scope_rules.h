// SPDX-License-Identifier: Apache-2.0
// What a tree has to fulfil so that CPython's symbol table takes its text: rules of `global`,
// `nonlocal`, parameters and annotated names.
#pragma once

#include <string>

#include "verify/lower/symbols.h"

namespace pellucid::verify::lower {

// Returns the first rule that is broken in the scope; empty: none.
std::string broken_rule(const Symbols& symbols, ScopeId scope);

}  // namespace pellucid::verify::lower
