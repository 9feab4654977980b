// SPDX-License-Identifier: Apache-2.0
#include "polish/extents.h"

#include <algorithm>

namespace pellucid::polish {

using ast::Kind;
using ast::NodeId;

namespace {

// Returns what is evaluated first of a statement.
Statements heads_of(const ast::Tree& tree, NodeId statement) {
  switch (tree.kind(statement)) {
    case Kind::If:
      return {tree.as<ast::If>(statement).test};
    case Kind::While:
      return {tree.as<ast::While>(statement).test};
    case Kind::For:
      return {tree.as<ast::For>(statement).iter};
    case Kind::With:
      return {tree.items(tree.as<ast::With>(statement).items)[0]};
    case Kind::Match:
      return {tree.as<ast::Match>(statement).subject};
    case Kind::Try: {
      const auto body = tree.items(tree.as<ast::Try>(statement).body);
      return body.empty() ? Statements() : heads_of(tree, body[0]);
    }
    default:
      return {statement};
  }
}

}  // namespace

uint32_t first_offset(const ast::Tree& tree, NodeId statement) {
  uint32_t first = ast::kNowhere;
  for (const NodeId node : own_nodes(tree, heads_of(tree, statement))) {
    const ast::Where at = tree.where(node);
    if (!at.code.valid()) first = std::min(first, at.offset);
  }
  return first;
}

uint32_t last_offset(const ast::Tree& tree, NodeId node) {
  uint32_t last = ast::kNowhere;
  for (const NodeId part : own_nodes(tree, {node})) {
    const ast::Where at = tree.where(part);
    if (at.code.valid() || at.offset == ast::kNowhere) continue;
    last = last == ast::kNowhere ? at.offset : std::max(last, at.offset);
  }
  return last;
}

int32_t first_line(const ast::Tree& tree, NodeId statement) {
  const int32_t own = tree.where(statement).line;
  const Kind kind = tree.kind(statement);
  if (kind == Kind::FunctionDef || kind == Kind::ClassDef) return own;
  if (kind == Kind::Try) {
    const auto body = tree.items(tree.as<ast::Try>(statement).body);
    const int32_t inside = body.empty() ? kUnknownLine : first_line(tree, body[0]);
    return inside == kUnknownLine ? kUnknownLine : inside - 1;
  }
  int32_t first = kUnknownLine;
  for (const NodeId node : own_nodes(tree, heads_of(tree, statement))) {
    const int32_t line = tree.where(node).line;
    if (line > 0 && (first == kUnknownLine || line < first)) first = line;
  }
  return first == kUnknownLine ? own : first;
}

int32_t last_line(const ast::Tree& tree, NodeId statement) {
  int32_t last = kUnknownLine;
  for (const NodeId node : own_nodes(tree, {statement})) {
    last = std::max(last, tree.where(node).line);
  }
  return last;
}

}  // namespace pellucid::polish
