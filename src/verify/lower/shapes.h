// SPDX-License-Identifier: Apache-2.0
// More of what a tree has to fulfil so that CPython reads it from its text (spelling.h): rules of
// the places of statements and expressions, and of how deep a text may be nested.
#pragma once

#include "ast/tree.h"
#include "verify/lower/spelling.h"

namespace pellucid::verify::lower {

// Adds the first rule that is broken in each scope that has no fault yet.
void check_shapes(const ast::Tree& tree, ast::NodeId root, Misspelt& found);

}  // namespace pellucid::verify::lower
