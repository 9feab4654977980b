// SPDX-License-Identifier: Apache-2.0
// `while True: while a: b` and c after it jumps from the end of b to where both loops start, and so
// is read as `while True: if a: b; continue` and c. From 3.11 on, the test is further right than
// that of an `if`, and the jump has no place of its own.
#include "polish/keywords.h"
#include "polish/rewrites.h"

namespace pellucid::polish {

using ast::Kind;
using ast::NodeId;

namespace {

// Makes a loop of the first statement in an endless loop, if it was one.
void nest_loop(ast::Tree& tree, NodeId loop, const Starts& starts) {
  if (!is_endless(tree, loop)) return;
  auto outer = tree.as<ast::While>(loop);
  const auto list = tree.items(outer.body);
  if (list.empty() || !tree.is(list[0], Kind::If)) return;
  const auto branch = tree.as<ast::If>(list[0]);
  // What follows may be in the `else` or after the `continue`.
  auto body = tree.items(branch.body);
  const auto orelse = tree.items(branch.orelse);
  const auto rest = orelse.empty() ? list.subspan(1) : orelse;
  if (rest.empty() || (!orelse.empty() && list.size() > 1)) return;
  const int32_t keyword = starts.of_test(branch.test) - (width_of("while ") - width_of("if "));
  const int32_t column = starts.of(rest[0]);
  if (column == Starts::kUnknown || keyword != column) return;
  if (orelse.empty()) {
    if (body.size() < 2 || !tree.is(body.back(), Kind::Continue)) return;
    if (starts.jump(body.back(), body[body.size() - 2]) > Starts::Jump::None) return;
    body = body.first(body.size() - 1);
  }
  Statements items(rest.begin(), rest.end());
  const ast::Where where = tree.where(list[0]);
  const NodeId inner = tree.add(ast::While{branch.test, tree.list(body), {}}, where);
  if (has_break(tree, inner)) return;
  items.insert(items.begin(), inner);
  outer.body = tree.list(items);
  tree.set(loop, outer);
}

}  // namespace

void nest_loops(ast::Tree& tree, const Statements& body, Outline& outline, const Starts& starts) {
  if (!starts.known()) return;
  for_each_statement(tree, body, outline, {Kind::While},
                     [&](NodeId loop) { nest_loop(tree, loop, starts); });
}

}  // namespace pellucid::polish
