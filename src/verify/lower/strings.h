// SPDX-License-Identifier: Apache-2.0
// verify::lower: f-strings (strings.cpp), the operations with `%` that CPython compiles as
// f-strings (percent_format.cpp), and template strings (template_strings.cpp).
#pragma once

#include <cstddef>
#include <functional>

#include "verify/lower/unit.h"

namespace pellucid::verify::lower {

void joined_string(Unit& unit, const ast::JoinedStr& node);
void formatted_value(Unit& unit, const ast::FormattedValue& node);
// Lowers `'...' % (a, b)` as the f-string that CPython makes of it; returns false for other
// operations.
bool percent_format(Unit& unit, const ast::BinOp& node);
void template_string(Unit& unit, const ast::TemplateStr& node);

// -- parts of them ------------------------------------------------------------------------------

// Builds a string of `count` pieces, each pushed by `write`.
void join_pieces(Unit& unit, size_t count, const std::function<void(size_t)>& write);
// Pushes the text of a format specification.
void format_specification(Unit& unit, NodeId node);
// Returns the operand for the letter of a conversion (`!s`, `!r`, `!a`); 0 for other values.
uint32_t conversion_of(uint32_t letter);

}  // namespace pellucid::verify::lower
