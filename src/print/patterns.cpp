// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ast/lines.h"
#include "ast/walk.h"
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

}  // namespace

void Expressions::pattern(NodeId id, size_t indent) {
  pattern_lines_ = {};
  pattern_lines_.kept = !before(11) && ast::keeps_lines(*tree_, id);
  pattern_lines_.indent = indent;
  go_to_pattern(id);
  const bool in_brackets =
      pattern_lines_.kept && !has_brackets(*tree_, id) && is_on_lines(*tree_, id);
  const auto mark = static_cast<std::ptrdiff_t>(work_.size());
  if (in_brackets) open_pattern("(");
  push(Task::Pattern, id.value, kAnyPattern);
  if (in_brackets) close_pattern(")");
  std::reverse(work_.begin() + mark, work_.end());
  run();
}

void Expressions::open_pattern(const char* piece) {
  if (!pattern_lines_.kept) return open(piece);
  push(Task::PatternOpen, 0, {}, piece);
}

void Expressions::close_pattern(const char* piece, bool may_add_comma) {
  if (!pattern_lines_.kept) return close(piece, may_add_comma);
  push(Task::PatternClose, may_add_comma ? 1 : 0, {}, piece);
}

// Before a part: if lines are kept, it may go to the next one.
void Expressions::next_pattern(NodeId id) {
  if (pattern_lines_.kept) push(Task::PatternLine, id.value);
}

void Expressions::go_to_pattern(NodeId id) {
  if (!pattern_lines_.kept) return;
  const int32_t line = ast::line_in_pattern(*tree_, id, pattern_lines_.line);
  const bool is_next = line > pattern_lines_.line && pattern_lines_.line > 0;
  pattern_lines_.line = line;
  if (!is_next) return;
  if (keeps_lines_) return go_to_line(std::max(line, static_cast<int32_t>(line_) + 1));
  auto& brackets = pattern_lines_.brackets;
  if (brackets.empty()) return;
  PatternLines::Bracket& around = brackets.back();
  if (out_.size() == around.start) around.is_last_there = true;
  new_pattern_line(around.indent + kIndent * (around.is_last_there ? 1 : 2));
}

void Expressions::begin_brackets() {
  ++depth_;
  pattern_lines_.brackets.push_back({pattern_lines_.indent, out_.size(), false});
}

void Expressions::end_brackets(bool may_add_comma) {
  --depth_;
  const PatternLines::Bracket around = pattern_lines_.brackets.back();
  pattern_lines_.brackets.pop_back();
  if (!around.is_last_there) return;
  if (may_add_comma) write(",");
  new_pattern_line(around.indent);
}

void Expressions::new_pattern_line(size_t indent) {
  while (out_.ends_with(' ')) out_.pop_back();
  out_ += '\n';
  out_.append(indent, ' ');
  pattern_lines_.indent = indent;
}

void Expressions::pattern_list(std::span<const NodeId> items) {
  bool first = true;
  for (const NodeId item : items) {
    if (!first) separator();
    first = false;
    next_pattern(item);
    push(Task::Pattern, item.value, kAnyPattern);
  }
}

void Expressions::expand_pattern(NodeId id, Place place) {
  const ast::Tree& tree = *tree_;
  switch (tree.kind(id)) {
    case Kind::MatchValue:
      expr(tree.as<ast::MatchValue>(id).value, kTest);
      break;
    case Kind::MatchSingleton:
      push(Task::Const, tree.as<ast::MatchSingleton>(id).value.value, kTest);
      break;
    case Kind::MatchSequence: {
      const auto items = tree.items(tree.as<ast::MatchSequence>(id).patterns);
      open_pattern("[");
      pattern_list(items);
      close_pattern("]", !items.empty());
      break;
    }
    case Kind::MatchMapping:
      mapping_pattern(id);
      break;
    case Kind::MatchClass:
      class_pattern(id);
      break;
    case Kind::MatchStar: {
      const auto node = tree.as<ast::MatchStar>(id);
      text("*");
      if (node.name.valid()) {
        word(node.name);
      } else {
        text("_");
      }
      break;
    }
    case Kind::MatchAs: {
      const auto node = tree.as<ast::MatchAs>(id);
      const bool parens = node.pattern.valid() && place.min > Level::Test;
      if (parens) open_pattern("(");
      if (node.pattern.valid()) {
        push(Task::Pattern, node.pattern.value, kOrPattern);
        text(" as ");
      }
      if (node.name.valid()) {
        word(node.name);
      } else {
        text("_");
      }
      if (parens) close_pattern(")");
      break;
    }
    case Kind::MatchOr: {
      const bool parens = place.min > Level::BitOr;
      if (parens) open_pattern("(");
      bool first = true;
      for (const NodeId each : tree.items(tree.as<ast::MatchOr>(id).patterns)) {
        if (!first) text(" | ");
        first = false;
        next_pattern(each);
        push(Task::Pattern, each.value, kClosedPattern);
      }
      if (parens) close_pattern(")");
      break;
    }
    default:
      PELLUCID_CHECK(ast::category_of(tree.kind(id)) == ast::Category::Pattern);
      break;
  }
}

void Expressions::mapping_pattern(NodeId id) {
  const auto node = tree_->as<ast::MatchMapping>(id);
  const auto keys = tree_->items(node.keys);
  const auto patterns = tree_->items(node.patterns);
  open_pattern("{");
  for (size_t i = 0; i < keys.size(); ++i) {
    if (i > 0) separator();
    next_pattern(patterns[i]);
    expr(keys[i], kTest);
    text(": ");
    push(Task::Pattern, patterns[i].value, kAnyPattern);
  }
  if (node.rest.valid()) {
    if (!keys.empty()) separator();
    text("**");
    word(node.rest);
  }
  close_pattern("}");
}

void Expressions::class_pattern(NodeId id) {
  const auto node = tree_->as<ast::MatchClass>(id);
  const auto attributes = tree_->items(node.kwd_attrs);
  const auto patterns = tree_->items(node.kwd_patterns);
  const auto positional = tree_->items(node.patterns);
  expr(node.cls, at(Level::Primary));
  open_pattern("(");
  pattern_list(positional);
  for (size_t i = 0; i < attributes.size(); ++i) {
    if (i > 0 || !positional.empty()) separator();
    next_pattern(patterns[i]);
    expr(attributes[i], kTest);
    text("=");
    push(Task::Pattern, patterns[i].value, kAnyPattern);
  }
  close_pattern(")");
}

}  // namespace pellucid::print
