// SPDX-License-Identifier: Apache-2.0
#include "polish/rewrites.h"

namespace pellucid::polish {

using ast::Kind;
using ast::NodeId;

// Appends lines of `pass` after a conditional expression whose dropped constants are still loaded.
// The compiler copies a short exit block into each arm (3.12: inline_small_exit_blocks) and then
// removes a constant that is dropped there. It did not, so the block was too long to copy: at that
// time a line without code counts as an instruction of it.
void keep_dropped_constants(ast::Tree& tree, Statements& body) {
  if (body.empty() || !tree.is(body.back(), Kind::Expr)) return;
  const NodeId last = body.back();
  std::vector<NodeId> todo{tree.as<ast::Expr>(last).value};
  bool has_constant = false;
  if (!tree.is(todo[0], Kind::IfExp)) return;
  while (!todo.empty() && !has_constant) {
    const NodeId node = todo.back();
    todo.pop_back();
    has_constant = tree.is(node, Kind::Constant);
    if (!tree.is(node, Kind::IfExp)) continue;
    const auto choice = tree.as<ast::IfExp>(node);
    // A conditional expression with a constant test was made for another reason.
    if (tree.is(choice.test, Kind::Constant)) return;
    todo.push_back(choice.body);
    todo.push_back(choice.orelse);
  }
  if (!has_constant) return;
  constexpr int kLines = 2;
  for (int i = 0; i < kLines; ++i) body.push_back(tree.add(ast::Pass{}, tree.where(last)));
}

}  // namespace pellucid::polish
