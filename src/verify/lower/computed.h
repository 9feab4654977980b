// SPDX-License-Identifier: Apache-2.0
// verify::lower: operations on values that are on the stack. CPython computes those on constants
// when it compiles, and code that computes them makes another object each time. What cannot be
// computed (`1 / 0`), or would be too large (`'x' * 5000`), is left to run time.
#pragma once

#include <span>

#include "verify/lower/unit.h"

namespace pellucid::verify::lower {

void unary(Unit& unit, const ast::UnaryOp& node);
void binary(Unit& unit, const ast::BinOp& node);
void subscript(Unit& unit, const ast::Subscript& node);

// Gives up if all parts of what is computed may be constants, and only choices hide it: 3.14+ may
// decide these first.
void refuse_chosen(Unit& unit, std::span<const NodeId> parts);

}  // namespace pellucid::verify::lower
