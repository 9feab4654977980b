// SPDX-License-Identifier: Apache-2.0
// print: the original line on which a piece of text begins.
#pragma once

#include <cstdint>

#include "ast/tree.h"

namespace pellucid::print {

// Lines beyond this are not kept: a file that claims them would be mostly line ends.
inline constexpr int32_t kLastKeptLine = 2'000'000;

// Returns the line of an expression's first token; -1: unknown.
int32_t first_line(const ast::Tree& tree, ast::NodeId expression);

// Returns the line of an expression that begins with its own token; -1 if it begins with a part.
int32_t own_line(const ast::Tree& tree, ast::NodeId expression);

// Returns the line of the first token of a statement, an except clause or a case, decorators
// included; -1: unknown.
int32_t line_of(const ast::Tree& tree, ast::NodeId statement);

}  // namespace pellucid::print
