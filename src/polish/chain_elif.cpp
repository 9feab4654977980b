// SPDX-License-Identifier: Apache-2.0
// Before: an `else` that starts with an `if` which never falls through, and more statements after
// it. After: these are the `else` of that `if`, which becomes an `elif`: one level less. An `if`
// that only raises is left alone: it is a check before those statements.
#include "polish/ends.h"
#include "polish/rewrites.h"

namespace pellucid::polish {

using ast::Kind;
using ast::NodeId;

namespace {

bool only_raises(const ast::Tree& tree, ast::ListId list) {
  const auto items = tree.items(list);
  return items.size() == 1 && tree.is(items[0], Kind::Raise);
}

}  // namespace

void chain_elif(ast::Tree& tree, Statements& body, Outline& outline) {
  std::vector<NodeId> todo;
  for_each_statement(tree, body, outline, {Kind::If}, [&](NodeId item) { todo.push_back(item); });
  while (!todo.empty()) {
    auto outer = tree.as<ast::If>(todo.back());
    const NodeId owner = todo.back();
    todo.pop_back();
    const auto items = tree.items(outer.orelse);
    if (items.size() < 2 || !tree.is(items[0], Kind::If)) continue;
    const NodeId first = items[0];
    auto inner = tree.as<ast::If>(first);
    if (!tree.items(inner.orelse).empty() || only_raises(tree, inner.body) ||
        !never_falls_through(tree, inner.body)) {
      continue;
    }
    const Statements rest(items.begin() + 1, items.end());
    inner.orelse = tree.list(rest);
    tree.set(first, inner);
    outer.orelse = tree.list({first});
    tree.set(owner, outer);
    todo.push_back(first);
  }
}

}  // namespace pellucid::polish
