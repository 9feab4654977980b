// SPDX-License-Identifier: Apache-2.0
// driver: remarks on code objects, as comments in the text that was printed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "driver/pipeline.h"
#include "object/code.h"

namespace pellucid::driver {

struct Comment {
  uint32_t line = 1;  // the line that the comment goes before
  std::string text;   // anything: what is not printable ASCII is escaped
};

// Returns the line of each code object's first statement, by its id. A code object without
// statements (a lambda, a comprehension) has the line of the one around it.
std::vector<uint32_t> first_lines(const object::Module& module, object::CodeId root,
                                  const std::vector<LineMapEntry>& line_map);

// Returns the names that stand in the text for names that no source can write, one per line; of
// very many, the first.
std::vector<std::string> lines_on_names(const Output& output);

// Returns the source with the comments on separate lines; if lines are kept, after the last one.
std::string with_comments(std::string_view source, std::vector<Comment> comments, bool keeps_lines);

}  // namespace pellucid::driver
