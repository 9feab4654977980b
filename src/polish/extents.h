// SPDX-License-Identifier: Apache-2.0
// polish: the first and the last line and instruction of a statement or an expression.
#pragma once

#include "polish/lists.h"

namespace pellucid::polish {

inline constexpr int32_t kUnknownLine = -1;

// Returns the offset of the first instruction of a statement, as far as that is known.
uint32_t first_offset(const ast::Tree& tree, ast::NodeId statement);

// Returns the offset of the last instruction of a simple statement or an expression, as far as that
// is known.
uint32_t last_offset(const ast::Tree& tree, ast::NodeId node);

// Returns the line of the first part of a statement that has one.
int32_t first_line(const ast::Tree& tree, ast::NodeId statement);

// Returns the greatest line of a statement.
int32_t last_line(const ast::Tree& tree, ast::NodeId statement);

}  // namespace pellucid::polish
