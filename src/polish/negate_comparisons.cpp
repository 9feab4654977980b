// SPDX-License-Identifier: Apache-2.0
// The compiler itself replaces `not a is b` by `a is not b`.
#include <unordered_set>

#include "polish/negations.h"
#include "polish/rewrites.h"

namespace pellucid::polish {

namespace {

// `nodes`: outer ones before those in them.
std::unordered_set<ast::NodeId> nodes_in_walruses(const ast::Tree& tree,
                                                  const std::vector<ast::NodeId>& nodes) {
  std::unordered_set<ast::NodeId> inside;
  for (const ast::NodeId node : nodes) {
    // What a walrus in another one has is there already.
    if (!tree.is(node, ast::Kind::NamedExpr) || inside.contains(node)) continue;
    const std::vector<ast::NodeId> below = all_nodes(tree, {tree.as<ast::NamedExpr>(node).value});
    inside.insert(below.begin(), below.end());
  }
  return inside;
}

}  // namespace

void negate_comparisons(ast::Tree& tree, const std::vector<ast::NodeId>& nodes,
                        bool looks_into_walrus) {
  std::unordered_set<ast::NodeId> stay;
  if (!looks_into_walrus) stay = nodes_in_walruses(tree, nodes);
  for (size_t i = nodes.size(); i-- > 0;) {
    if (!is_not(tree, nodes[i]) || stay.count(nodes[i])) continue;
    const ast::NodeId operand = tree.as<ast::UnaryOp>(nodes[i]).operand;
    const auto op = opposite_operator(tree, operand);
    if (!op) continue;
    auto compare = tree.as<ast::Compare>(operand);
    compare.ops = tree.numbers({{static_cast<uint32_t>(*op)}});
    tree.set(nodes[i], compare);
  }
}

}  // namespace pellucid::polish
