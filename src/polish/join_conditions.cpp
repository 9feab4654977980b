// SPDX-License-Identifier: Apache-2.0
// `if a: if b:` and `if a and b:` compile to the same code. Where the tests have different lines,
// or the jumps that leave them, the second one is read as a statement of its own; its column shows
// whether it was.
#include "polish/negations.h"
#include "polish/rewrites.h"

namespace pellucid::polish {

using ast::Kind;
using ast::NodeId;

namespace {

// Appends the operands of a test that is one of several.
void append_operands(const ast::Tree& tree, NodeId test, Statements& operands) {
  if (!tree.is(test, Kind::BoolOp) || tree.as<ast::BoolOp>(test).op != kAnd) {
    return operands.push_back(test);
  }
  const auto values = tree.items(tree.as<ast::BoolOp>(test).values);
  operands.insert(operands.end(), values.begin(), values.end());
}

bool is_tested_again(const ast::Tree& tree, NodeId test) {
  return tree.is(test, Kind::BoolOp) && tree.as<ast::BoolOp>(test).is_tested_again;
}

// Joins an `if` with the one in it. Returns true if it was written that way.
bool join_with_inner(ast::Tree& tree, NodeId item, const Starts& starts) {
  auto outer = tree.as<ast::If>(item);
  const auto inside = tree.items(outer.body);
  if (inside.size() != 1 || !tree.is(inside[0], Kind::If)) return false;
  const auto inner = tree.as<ast::If>(inside[0]);
  if (!tree.items(outer.orelse).empty() || !tree.items(inner.orelse).empty()) return false;
  if (is_tested_again(tree, outer.test) || is_tested_again(tree, inner.test)) return false;
  if (!starts.is_written_outside(inside[0], item, inner.body)) return false;
  Statements operands;
  append_operands(tree, outer.test, operands);
  append_operands(tree, inner.test, operands);
  outer.test = tree.add(ast::BoolOp{kAnd, tree.list(operands), 0}, tree.where(outer.test));
  outer.body = inner.body;
  tree.set(item, outer);
  return true;
}

}  // namespace

void join_conditions(ast::Tree& tree, const Statements& body, Outline& outline,
                     const Starts& starts) {
  if (!starts.known()) return;
  for_each_statement(tree, body, outline, {Kind::If}, [&](NodeId item) {
    while (tree.is(item, Kind::If) && join_with_inner(tree, item, starts)) {
    }
  });
}

}  // namespace pellucid::polish
