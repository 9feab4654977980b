// SPDX-License-Identifier: Apache-2.0
// A `yield` that never runs makes a function a generator and leaves nothing else. After a `raise`
// or a `return` at the end it needs no test, and that is how most code has it.
#include <algorithm>

#include "ast/nodes.h"
#include "polish/ends.h"
#include "polish/rewrites.h"

namespace pellucid::polish {

using ast::Kind;
using ast::NodeId;

void yield_at_end(ast::Tree& tree, Statements& body) {
  if (body.empty()) return;
  if (!is_bare_return(tree, body.back()) && !tree.is(body.back(), Kind::Raise)) return;
  const auto yields = [&](NodeId item) {
    return tree.is(item, Kind::Expr) && tree.is(tree.as<ast::Expr>(item).value, Kind::Yield);
  };
  const auto dead = std::ranges::find_if(body, [&](NodeId item) {
    return tree.is(item, Kind::If) &&
           ast::is_constant(tree, tree.as<ast::If>(item).test, object::ConstKind::False);
  });
  if (dead == body.end()) return;
  auto branch = tree.as<ast::If>(*dead);
  Statements inside = items_at(tree, place_of(tree, *dead, ast::Suite::Body));
  const auto found = std::ranges::find_if(inside, yields);
  if (found == inside.end()) return;
  const NodeId yield = *found;
  inside.erase(found);
  branch.body = tree.list(inside);
  tree.set(*dead, branch);
  if (inside.empty()) body.erase(dead);
  body.push_back(yield);
}

}  // namespace pellucid::polish
