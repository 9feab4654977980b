// SPDX-License-Identifier: Apache-2.0
#include "print/writer.h"

#include "print/lines.h"

namespace pellucid::print {

void Writer::write(std::string_view piece) {
  // `{{` in an f-string is a brace, not a set.
  if (brace_at == out.size() && piece.starts_with('{')) out += ' ';
  out += piece;
}

Task& Writer::push(Task::What what, uint32_t id, Place place, const char* piece) {
  return work.emplace_back(Task{what, quotes, inside, kSingle, Braces::Plain, place, id, 0, piece});
}

void Writer::line_before(ast::NodeId id) {
  if (!keeps_lines || !tree) return;
  const int32_t start = first_line(*tree, id);
  if (start > 0) push(Task::Line, static_cast<uint32_t>(start));
}

void Writer::keep_lines_from(uint32_t start, uint32_t columns, bool is_line_start) {
  keeps_lines = true;
  line = start;
  indent = columns;
  statement_start = is_line_start ? out.size() : std::string::npos;
  depth = 0;
}

void Writer::go_to_line(int32_t to) {
  if (!keeps_lines || is_confined || to > kLastKeptLine) return;
  if (to <= static_cast<int64_t>(line)) return;
  const size_t count = static_cast<size_t>(to) - line;
  line = static_cast<uint32_t>(to);
  if (out.size() == statement_start) {
    const size_t columns = out.size() - (out.rfind('\n') + 1);
    out.resize(out.size() - columns);
    out.append(count, '\n');
    out.append(columns, ' ');
    statement_start = out.size();
    return;
  }
  while (out.ends_with(' ')) out.pop_back();
  // A line end has no meaning inside of brackets; elsewhere it needs a backslash.
  for (size_t i = 0; i < count; ++i) out += depth > 0 ? "\n" : " \\\n";
  out.append(indent, ' ');
}

}  // namespace pellucid::print
