// SPDX-License-Identifier: Apache-2.0
// Conditions for CPython to read a tree from its text (spelling.h): the rules of `match`.
#pragma once

#include "ast/tree.h"

namespace pellucid::verify::lower {

// Returns the rule that a Match or a pattern itself breaks, apart from its parts; null if none.
const char* broken_pattern(const ast::Tree& tree, ast::NodeId node);

}  // namespace pellucid::verify::lower
