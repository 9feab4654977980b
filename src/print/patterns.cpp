// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ast/lines.h"
#include "ast/walk.h"
#include "print/expand.h"
#include "print/expressions.h"

namespace pellucid::print {

using ast::Kind;
using ast::NodeId;

namespace {

// The levels of patterns, in the table's terms: `p as name` is loosest, then `p | q`.
constexpr Place kAnyPattern = at(Level::Test);
constexpr Place kOrPattern = at(Level::BitOr);
constexpr Place kClosedPattern = at(Level::Primary);

bool has_brackets(const ast::Tree& tree, NodeId id) {
  return !tree.is(id, Kind::MatchOr) && !tree.is(id, Kind::MatchAs);
}

// Returns true if some part of a pattern that keeps its lines is on another line than its start.
bool is_on_lines(const ast::Tree& tree, NodeId pattern) {
  const int32_t first = ast::line_in_pattern(tree, pattern, -1);
  bool found = false;
  ast::walk(tree, std::span(&pattern, 1), [&](NodeId id) {
    found = found || tree.where(id).line > first;
    return ast::category_of(tree.kind(id)) == ast::Category::Pattern;
  });
  return found;
}

void open_pattern(Writer& writer, const char* piece) {
  if (!writer.pattern_lines.kept) return writer.open(piece);
  writer.put(Task::PatternOpen, 0, {}, piece);
}

void close_pattern(Writer& writer, const char* piece, bool may_add_comma = false) {
  if (!writer.pattern_lines.kept) return writer.close(piece, may_add_comma);
  writer.put(Task::PatternClose, may_add_comma ? 1 : 0, {}, piece);
}

// Before a part: if lines are kept, it may go to the next one.
void next_pattern(Writer& writer, NodeId id) {
  if (writer.pattern_lines.kept) writer.put(Task::PatternLine, id.value);
}

void new_pattern_line(Writer& writer, size_t indent) {
  while (writer.out.ends_with(' ')) writer.out.pop_back();
  writer.out += '\n';
  writer.out.append(indent, ' ');
  writer.pattern_lines.indent = indent;
}

void pattern_list(Writer& writer, std::span<const NodeId> items) {
  bool first = true;
  for (const NodeId item : items) {
    if (!first) writer.separator();
    first = false;
    next_pattern(writer, item);
    writer.put(Task::Pattern, item.value, kAnyPattern);
  }
}

void mapping_pattern(Writer& writer, NodeId id) {
  const auto node = writer.tree->as<ast::MatchMapping>(id);
  const auto keys = writer.tree->items(node.keys);
  const auto patterns = writer.tree->items(node.patterns);
  open_pattern(writer, "{");
  for (size_t i = 0; i < keys.size(); ++i) {
    if (i > 0) writer.separator();
    next_pattern(writer, patterns[i]);
    writer.expr(keys[i], kTest);
    writer.text(": ");
    writer.put(Task::Pattern, patterns[i].value, kAnyPattern);
  }
  if (node.rest.valid()) {
    if (!keys.empty()) writer.separator();
    writer.text("**");
    writer.word(node.rest);
  }
  close_pattern(writer, "}");
}

void class_pattern(Writer& writer, NodeId id) {
  const auto node = writer.tree->as<ast::MatchClass>(id);
  const auto attributes = writer.tree->items(node.kwd_attrs);
  const auto patterns = writer.tree->items(node.kwd_patterns);
  const auto positional = writer.tree->items(node.patterns);
  writer.expr(node.cls, at(Level::Primary));
  open_pattern(writer, "(");
  pattern_list(writer, positional);
  for (size_t i = 0; i < attributes.size(); ++i) {
    if (i > 0 || !positional.empty()) writer.separator();
    next_pattern(writer, patterns[i]);
    writer.expr(attributes[i], kTest);
    writer.text("=");
    writer.put(Task::Pattern, patterns[i].value, kAnyPattern);
  }
  close_pattern(writer, ")");
}

}  // namespace

void pattern(Writer& writer, NodeId id, size_t indent) {
  writer.pattern_lines = {};
  writer.pattern_lines.kept = !writer.before(11) && ast::keeps_lines(*writer.tree, id);
  writer.pattern_lines.indent = indent;
  go_to_pattern(writer, id);
  const bool in_brackets =
      writer.pattern_lines.kept && !has_brackets(*writer.tree, id) && is_on_lines(*writer.tree, id);
  if (in_brackets) open_pattern(writer, "(");
  writer.put(Task::Pattern, id.value, kAnyPattern);
  if (in_brackets) close_pattern(writer, ")");
}

void go_to_pattern(Writer& writer, NodeId id) {
  if (!writer.pattern_lines.kept) return;
  const int32_t line = ast::line_in_pattern(*writer.tree, id, writer.pattern_lines.line);
  const bool is_next = line > writer.pattern_lines.line && writer.pattern_lines.line > 0;
  writer.pattern_lines.line = line;
  if (!is_next) return;
  if (writer.keeps_lines)
    return writer.go_to_line(std::max(line, static_cast<int32_t>(writer.line) + 1));
  auto& brackets = writer.pattern_lines.brackets;
  if (brackets.empty()) return;
  PatternLines::Bracket& around = brackets.back();
  if (writer.out.size() == around.start) around.is_last_there = true;
  new_pattern_line(writer, around.indent + kIndent * (around.is_last_there ? 1 : 2));
}

void begin_brackets(Writer& writer) {
  ++writer.depth;
  writer.pattern_lines.brackets.push_back({writer.pattern_lines.indent, writer.out.size(), false});
}

void end_brackets(Writer& writer, bool may_add_comma) {
  --writer.depth;
  const PatternLines::Bracket around = writer.pattern_lines.brackets.back();
  writer.pattern_lines.brackets.pop_back();
  if (!around.is_last_there) return;
  if (may_add_comma) writer.write(",");
  new_pattern_line(writer, around.indent);
}

void expand_pattern(Writer& writer, NodeId id, Place place) {
  const ast::Tree& tree = *writer.tree;
  switch (tree.kind(id)) {
    case Kind::MatchValue:
      writer.expr(tree.as<ast::MatchValue>(id).value, kTest);
      break;
    case Kind::MatchSingleton:
      writer.put(Task::Const, tree.as<ast::MatchSingleton>(id).value.value, kTest);
      break;
    case Kind::MatchSequence: {
      const auto items = tree.items(tree.as<ast::MatchSequence>(id).patterns);
      open_pattern(writer, "[");
      pattern_list(writer, items);
      close_pattern(writer, "]", !items.empty());
      break;
    }
    case Kind::MatchMapping:
      mapping_pattern(writer, id);
      break;
    case Kind::MatchClass:
      class_pattern(writer, id);
      break;
    case Kind::MatchStar: {
      const auto node = tree.as<ast::MatchStar>(id);
      writer.text("*");
      if (node.name.valid()) {
        writer.word(node.name);
      } else {
        writer.text("_");
      }
      break;
    }
    case Kind::MatchAs: {
      const auto node = tree.as<ast::MatchAs>(id);
      const bool parens = node.pattern.valid() && place.min > Level::Test;
      if (parens) open_pattern(writer, "(");
      if (node.pattern.valid()) {
        writer.put(Task::Pattern, node.pattern.value, kOrPattern);
        writer.text(" as ");
      }
      if (node.name.valid()) {
        writer.word(node.name);
      } else {
        writer.text("_");
      }
      if (parens) close_pattern(writer, ")");
      break;
    }
    case Kind::MatchOr: {
      const bool parens = place.min > Level::BitOr;
      if (parens) open_pattern(writer, "(");
      bool first = true;
      for (const NodeId each : tree.items(tree.as<ast::MatchOr>(id).patterns)) {
        if (!first) writer.text(" | ");
        first = false;
        next_pattern(writer, each);
        writer.put(Task::Pattern, each.value, kClosedPattern);
      }
      if (parens) close_pattern(writer, ")");
      break;
    }
    default:
      PELLUCID_CHECK(ast::category_of(tree.kind(id)) == ast::Category::Pattern);
      break;
  }
}

}  // namespace pellucid::print
