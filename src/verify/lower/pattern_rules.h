// SPDX-License-Identifier: Apache-2.0
// More of what a tree has to fulfil so that CPython reads it from its text (spelling.h): rules of
// `match`.
#pragma once

#include "ast/tree.h"

namespace pellucid::verify::lower {

// Returns the rule that a Match or a pattern breaks by itself, what is in it aside; null: none.
const char* broken_pattern(const ast::Tree& tree, ast::NodeId node);

}  // namespace pellucid::verify::lower
