// SPDX-License-Identifier: Apache-2.0
// An instruction usually has the line on which its expression starts; since 3.11, that of an
// attribute or a method call has the line of the name after the dot. A statement has the line of
// the instruction that completes it, which may be after its start.
#include "print/lines.h"

#include <algorithm>

#include "ast/lines.h"

namespace pellucid::print {

using ast::Kind;
using ast::NodeId;

namespace {

int32_t earlier(int32_t a, int32_t b) {
  if (a <= 0) return b;
  return b <= 0 ? a : std::min(a, b);
}

// Returns the expression that a statement's text starts with, or that is on the line of its
// keyword.
NodeId first_expression(const ast::Tree& tree, NodeId id) {
  switch (tree.kind(id)) {
    case Kind::Expr:
      return tree.as<ast::Expr>(id).value;
    case Kind::Assign: {
      const auto targets = tree.items(tree.as<ast::Assign>(id).targets);
      return targets.empty() ? NodeId() : targets[0];
    }
    case Kind::AugAssign:
      return tree.as<ast::AugAssign>(id).target;
    case Kind::AnnAssign:
      return tree.as<ast::AnnAssign>(id).target;
    case Kind::Return:
      return tree.as<ast::Return>(id).value;
    case Kind::Raise:
      return tree.as<ast::Raise>(id).exc;
    case Kind::Assert:
      return tree.as<ast::Assert>(id).test;
    case Kind::If:
      return tree.as<ast::If>(id).test;
    case Kind::While:
      return tree.as<ast::While>(id).test;
    case Kind::For:
      return tree.as<ast::For>(id).target;
    case Kind::Match:
      return tree.as<ast::Match>(id).subject;
    case Kind::ExceptHandler:
      return tree.as<ast::ExceptHandler>(id).type;
    case Kind::With: {
      const auto items = tree.items(tree.as<ast::With>(id).items);
      return items.empty() ? NodeId() : tree.as<ast::withitem>(items[0]).context_expr;
    }
    default:
      return NodeId();
  }
}

NodeId first_decorator(const ast::Tree& tree, NodeId id) {
  ast::ListId decorators;
  if (tree.is(id, Kind::FunctionDef)) decorators = tree.as<ast::FunctionDef>(id).decorator_list;
  if (tree.is(id, Kind::ClassDef)) decorators = tree.as<ast::ClassDef>(id).decorator_list;
  const auto items = tree.items(decorators);
  return items.empty() ? NodeId() : items[0];
}

// Returns the first statement in the body of a statement whose header has no instructions, and so
// no line.
NodeId body_of_idle_header(const ast::Tree& tree, NodeId id) {
  ast::ListId body;
  if (tree.is(id, Kind::Try)) body = tree.as<ast::Try>(id).body;
  if (tree.is(id, Kind::While)) {
    const auto loop = tree.as<ast::While>(id);
    if (tree.is(loop.test, Kind::Constant)) body = loop.body;
  }
  const auto items = tree.items(body);
  return items.empty() ? NodeId() : items[0];
}

}  // namespace

int32_t first_line(const ast::Tree& tree, NodeId expression) {
  int32_t line = -1;
  for (NodeId id = expression; id.valid(); id = ast::first_part(tree, id)) {
    if (tree.where(id).line > 0) line = tree.where(id).line;
  }
  return line;
}

int32_t own_line(const ast::Tree& tree, NodeId expression) {
  // A tuple may have brackets or not.
  const bool has_part =
      ast::first_part(tree, expression).valid() || tree.is(expression, Kind::Starred);
  return has_part ? -1 : tree.where(expression).line;
}

int32_t line_of(const ast::Tree& tree, NodeId statement) {
  const NodeId decorator = first_decorator(tree, statement);
  if (decorator.valid()) return first_line(tree, decorator);
  // `try:` and `while True:` are nearly always on the line before their body.
  int32_t headers = 0;
  NodeId first = statement;
  for (NodeId inner = body_of_idle_header(tree, first); inner.valid();
       inner = body_of_idle_header(tree, first)) {
    first = inner;
    ++headers;
  }
  if (headers > 0) {
    const int32_t line = line_of(tree, first);
    return line > headers ? line - headers : -1;
  }
  const NodeId part = first_expression(tree, statement);
  const int32_t own = tree.where(statement).line;
  return part.valid() ? earlier(first_line(tree, part), own) : own;
}

}  // namespace pellucid::print
