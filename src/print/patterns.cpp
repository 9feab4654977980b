#include "print/expressions.h"

namespace pellucid::print {

using ast::Kind;
using ast::NodeId;

namespace {

// The levels of patterns, in the table's terms: `p as name` is loosest, then `p | q`.
constexpr Place kAnyPattern = at(Level::Test);
constexpr Place kOrPattern = at(Level::BitOr);
constexpr Place kClosedPattern = at(Level::Primary);

}  // namespace

void Expressions::pattern(NodeId id) {
  push(Task::Pattern, id.value, kAnyPattern);
  run();
}

void Expressions::pattern_list(std::span<const NodeId> items) {
  bool first = true;
  for (const NodeId item : items) {
    if (!first) separator();
    first = false;
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
      open("[");
      pattern_list(items);
      close("]", !items.empty());
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
      if (parens) open("(");
      if (node.pattern.valid()) {
        push(Task::Pattern, node.pattern.value, kOrPattern);
        text(" as ");
      }
      if (node.name.valid()) {
        word(node.name);
      } else {
        text("_");
      }
      if (parens) close(")");
      break;
    }
    case Kind::MatchOr: {
      const bool parens = place.min > Level::BitOr;
      if (parens) open("(");
      bool first = true;
      for (const NodeId each : tree.items(tree.as<ast::MatchOr>(id).patterns)) {
        if (!first) text(" | ");
        first = false;
        push(Task::Pattern, each.value, kClosedPattern);
      }
      if (parens) close(")");
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
  open("{");
  for (size_t i = 0; i < keys.size(); ++i) {
    if (i > 0) separator();
    expr(keys[i], kTest);
    text(": ");
    push(Task::Pattern, patterns[i].value, kAnyPattern);
  }
  if (node.rest.valid()) {
    if (!keys.empty()) separator();
    text("**");
    word(node.rest);
  }
  close("}");
}

void Expressions::class_pattern(NodeId id) {
  const auto node = tree_->as<ast::MatchClass>(id);
  const auto attributes = tree_->items(node.kwd_attrs);
  const auto patterns = tree_->items(node.kwd_patterns);
  const auto positional = tree_->items(node.patterns);
  expr(node.cls, at(Level::Primary));
  open("(");
  pattern_list(positional);
  for (size_t i = 0; i < attributes.size(); ++i) {
    if (i > 0 || !positional.empty()) separator();
    expr(attributes[i], kTest);
    text("=");
    push(Task::Pattern, patterns[i].value, kAnyPattern);
  }
  close(")");
}

}  // namespace pellucid::print
