// SPDX-License-Identifier: Apache-2.0
// Conditions for CPython to read a tree from its text (spelling.h): the rules of names, which have
// to be identifiers, and of `__debug__`, which is a constant.
#pragma once

#include "ast/tree.h"
#include "verify/lower/place.h"
#include "verify/lower/spelling.h"

namespace pellucid::verify::lower {

// Both add the first broken rule of the scope, unless it has an entry.

// Checks the names in a node itself, and its targets.
void check_names(const ast::Tree& tree, NodeId node, const Place& place, Misspelt& found);
// Checks a name that is bound or looked up; it may be absent.
void check_variable(const ast::Tree& tree, ast::field::Name name, const Place& place,
                    Misspelt& found);

}  // namespace pellucid::verify::lower
