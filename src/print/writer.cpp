// SPDX-License-Identifier: Apache-2.0
#include "print/writer.h"

#include <algorithm>

#include "object/identifiers.h"
#include "print/annotation_text.h"
#include "print/expand.h"
#include "print/lines.h"

namespace pellucid::print {

void Writer::put(const Task& task) {
  if (failed) return;
  if (is_deferring) {
    work.push_back(task);
    return;
  }
  if (level < kDeepest) {
    ++level;
    step(*this, task);
    --level;
    return;
  }
  const Quotes outer = quotes;
  const bool was_inside = inside;
  is_deferring = true;
  work.push_back(task);
  while (!work.empty() && !failed) {
    const Task next = work.back();
    work.pop_back();
    const auto first = static_cast<std::ptrdiff_t>(work.size());
    quotes = next.quotes;
    inside = next.inside;
    step(*this, next);
    std::reverse(work.begin() + first, work.end());
  }
  is_deferring = false;
  quotes = outer;
  inside = was_inside;
}

void Writer::expr(ast::NodeId id, Place place) {
  if (is_deferring || level >= kDeepest || failed) return put(Task::Expr, id.value, place);
  // Most expressions are names, which need no brackets in any place.
  const ast::Tree::Record& node = (*tree)[id];
  if (node.kind == ast::Kind::Name && !keeps_lines && !place.has(Place::kApart)) {
    return name(ast::Tree::as<ast::Name>(node).id);
  }
  ++level;
  expand(*this, id, place);
  --level;
}

void Writer::write_odd_word(std::string_view name) { out += object::as_identifier(name); }

bool Writer::look_at_word(Symbol symbol, std::string_view name) {
  // A part of a text has few words.
  if (is_confined || is_trial) return object::is_identifier(name);
  if (words.size() <= symbol.index()) words.resize(module.strings.size(), kUnknown);
  Spelling& known = part_of(words, symbol);
  if (known == kUnknown) known = object::is_identifier(name) ? kPlain : kOdd;
  return known == kPlain;
}

void Writer::name(Symbol symbol) {
  const std::string_view shown = module.text(symbol);
  if (is_plain_word(symbol, shown)) {
    out += shown;
  } else if (!object::is_one_expression(shown)) {
    write_odd_word(shown);
  } else {
    const bool has_calls = before(9) && shown.find('(') != std::string_view::npos;
    has_calls ? write(with_ellipses(shown)) : write(shown);
  }
}

void Writer::line_before(ast::NodeId id) {
  if (!keeps_lines || !tree) return;
  const int32_t start = first_line(*tree, id);
  if (start > 0) put(Task::Line, static_cast<uint32_t>(start));
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
