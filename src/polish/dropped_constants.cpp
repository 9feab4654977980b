// SPDX-License-Identifier: Apache-2.0
#include "polish/rewrites.h"

namespace pellucid::polish {

using ast::Kind;
using ast::NodeId;

// Compilers copy a short end of a body to each arm and then see that a constant is dropped there.
// They have not where the end was too long for that: each line without code is an instruction of
// it when they look.
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
    // Something that is always so was made for another reason.
    if (tree.is(choice.test, Kind::Constant)) return;
    todo.push_back(choice.body);
    todo.push_back(choice.orelse);
  }
  if (!has_constant) return;
  constexpr int kLines = 2;
  for (int i = 0; i < kLines; ++i) body.push_back(tree.add(ast::Pass{}, tree.where(last)));
}

}  // namespace pellucid::polish
