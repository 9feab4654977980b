// SPDX-License-Identifier: Apache-2.0
// Conditions for CPython to read a tree from its text (spelling.h): the rules for the places of
// statements and expressions, and for the depth of nesting.
#pragma once

#include "ast/tree.h"
#include "verify/lower/spelling.h"

namespace pellucid::verify::lower {

// Adds the first broken rule for each scope that has no entry yet.
void check_shapes(const ast::Tree& tree, ast::NodeId root, Misspelt& found);

}  // namespace pellucid::verify::lower
