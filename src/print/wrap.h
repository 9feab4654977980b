// SPDX-License-Identifier: Apache-2.0
// print: breaks long lines inside brackets, where a line end has no meaning.
#pragma once

#include <string>
#include <vector>

#include "print/expressions.h"

namespace pellucid::print {

// Breaks the last line of `out`, which starts at `start` and has `indent` columns of indentation,
// to lines of `length` columns. `marks` are its brackets and separators in the order of the text,
// some of which become an OpenLine; `must`: one is.
void wrap_line(std::string& out, size_t start, size_t indent, size_t length,
               std::vector<Mark>& marks, bool must);

}  // namespace pellucid::print
