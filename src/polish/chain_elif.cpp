// SPDX-License-Identifier: Apache-2.0
// Before: an `else` that starts with an `if` which never falls through, and more statements after
// it. After: these are the `else` of that `if`, which becomes an `elif`: one level less. An `elif`
// follows its `if` on the next line, while an `else:` takes a line. Where lines do not tell, an
// `if` that only raises is left alone: it is a check before those statements.
#include "polish/ends.h"
#include "polish/extents.h"
#include "polish/rewrites.h"

namespace pellucid::polish {

using ast::Kind;
using ast::NodeId;

namespace {

bool only_raises(const ast::Tree& tree, ast::ListId list) {
  const auto items = tree.items(list);
  return items.size() == 1 && tree.is(items[0], Kind::Raise);
}

// Returns true if the first statement of the `else` of `outer` was an `elif`.
bool was_elif(const ast::Tree& tree, const ast::If& outer, const ast::If& inner) {
  const auto body = tree.items(outer.body);
  const NodeId last = body.empty() ? NodeId() : body.back();
  const int32_t start = last.valid() ? first_line(tree, inner.test) : kUnknownLine;
  const int32_t end = start > 0 ? last_line(tree, last) : kUnknownLine;
  if (end > 0 && start == end + 1) return true;
  // A statement of several lines may end in a bracket on another one.
  const bool is_known = end > 0 && start > end && !is_bare_jump(tree, last) &&
                        !kWithLists.has(tree.kind(last)) && first_line(tree, last) == end;
  return !is_known && !only_raises(tree, inner.body);
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
    if (!tree.items(inner.orelse).empty() || !never_falls_through(tree, inner.body)) continue;
    if (!was_elif(tree, outer, inner)) continue;
    const Statements rest(items.begin() + 1, items.end());
    inner.orelse = tree.list(rest);
    tree.set(first, inner);
    outer.orelse = tree.list({first});
    tree.set(owner, outer);
    todo.push_back(first);
  }
}

}  // namespace pellucid::polish
