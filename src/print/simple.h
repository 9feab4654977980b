// SPDX-License-Identifier: Apache-2.0
// print: simple statements, comments and docstrings.
#pragma once

#include <string_view>

#include "print/page.h"

namespace pellucid::print {

// Prints a simple statement or a comment, without the end of its line.
void simple(Page& page, ast::NodeId id, uint32_t depth);
// Prints one comment per line. Invisible characters are escaped, and so is "coding:", which in the
// first two lines would declare the encoding of the whole text.
void comment(Page& page, std::string_view text, uint32_t depth);

bool is_docstring(const Page& page, ast::NodeId id);
// Prints a docstring, and ends its line. `next`: the statement after it, if there is one.
void docstring(Page& page, ast::NodeId id, uint32_t depth, ast::NodeId next);

}  // namespace pellucid::print
