// SPDX-License-Identifier: Apache-2.0
// `with a, b:` compiles to two nested statements; on one line they can only have been written that
// way, and on several lines where the columns are not those of a statement in another one.
#include <algorithm>

#include "polish/rewrites.h"

namespace pellucid::polish {

using ast::Kind;

namespace {

// Returns what a `with` holds, past those of its own line and those whose manager is below its own:
// they are one statement in parentheses.
ast::ListId body_past_row(const ast::Tree& tree, ast::NodeId with, const Starts& starts) {
  const int32_t line = tree.where(with).line, column = starts.of(with);
  ast::ListId body = tree.as<ast::With>(with).body;
  for (auto inside = tree.items(body); inside.size() == 1 && tree.is(inside[0], Kind::With);
       inside = tree.items(body)) {
    if (tree.where(inside[0]).line != line && starts.of(inside[0]) != column) break;
    body = tree.as<ast::With>(inside[0]).body;
  }
  return body;
}

// Joins a `with` with the one in it. Returns true if it was written that way.
bool join_with_only_item(ast::Tree& tree, ast::NodeId item, const Starts& starts) {
  auto outer = tree.as<ast::With>(item);
  const auto inside = tree.items(outer.body);
  if (inside.size() != 1 || !tree.is(inside[0], Kind::With)) return false;
  const auto inner = tree.as<ast::With>(inside[0]);
  if (inner.is_async != outer.is_async) return false;
  const auto managers = tree.items(outer.items);
  const int32_t line = std::max(tree.where(item).line, tree.where(managers.back()).line);
  const bool is_one_line = line >= 0 && tree.where(inside[0]).line == line;
  const auto is_outside = [&] {
    return starts.is_written_outside(inside[0], item, body_past_row(tree, inside[0], starts));
  };
  if (!is_one_line && !is_outside()) return false;
  for (const ast::NodeId manager :
       Statements(tree.items(inner.items).begin(), tree.items(inner.items).end())) {
    outer.items = tree.append(outer.items, manager);
  }
  outer.body = inner.body;
  tree.set(item, outer);
  return true;
}

}  // namespace

void join_with(ast::Tree& tree, const Statements& body, Outline& outline, const Starts& starts) {
  for_each_statement(tree, body, outline, {Kind::With}, [&](ast::NodeId item) {
    while (tree.is(item, Kind::With) && join_with_only_item(tree, item, starts)) {
    }
  });
}

}  // namespace pellucid::polish
