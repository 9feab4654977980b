// SPDX-License-Identifier: Apache-2.0
// `not a or not b` compiles to the jumps of `not (a and b)`. From 3.11 on, the columns between the
// operands show which word was written there.
#include "polish/keywords.h"
#include "polish/negations.h"
#include "polish/rewrites.h"

namespace pellucid::polish {

using ast::Kind;
using ast::NodeId;

namespace {

// Returns the expressions that are only tested for their truth.
std::vector<NodeId> tests(const ast::Tree& tree, const std::vector<NodeId>& nodes) {
  std::vector<NodeId> found;
  for (const NodeId node : nodes) {
    switch (tree.kind(node)) {
      case Kind::If:
        found.push_back(tree.as<ast::If>(node).test);
        break;
      case Kind::While:
        found.push_back(tree.as<ast::While>(node).test);
        break;
      case Kind::Assert:
        found.push_back(tree.as<ast::Assert>(node).test);
        break;
      case Kind::IfExp:
        found.push_back(tree.as<ast::IfExp>(node).test);
        break;
      case Kind::comprehension:
        for (const NodeId test : tree.items(tree.as<ast::comprehension>(node).ifs)) {
          found.push_back(test);
        }
        break;
      default:
        break;
    }
  }
  return found;
}

}  // namespace

void join_negations(ast::Tree& tree, const std::vector<NodeId>& nodes, const Starts& starts) {
  if (!starts.known()) return;
  std::vector<NodeId> todo = tests(tree, nodes);
  while (!todo.empty()) {
    const NodeId node = todo.back();
    todo.pop_back();
    if (is_not(tree, node)) todo.push_back(tree.as<ast::UnaryOp>(node).operand);
    if (!tree.is(node, Kind::BoolOp)) continue;
    const auto both = tree.as<ast::BoolOp>(node);
    if (both.is_tested_again) continue;
    const auto values = tree.items(both.values);
    todo.insert(todo.end(), values.begin(), values.end());
    const bool is_or = both.op == static_cast<uint32_t>(ast::BoolOperator::Or);
    size_t as_it_is = 0, as_negated = 0;
    for (size_t i = 1; i < values.size(); ++i) {
      const int32_t gap = starts.gap(values[i - 1], values[i]);
      const int32_t prefix = is_not(tree, values[i]) ? width_of("not ") : 0;
      const int32_t opposite_prefix =
          opposite_operator(tree, values[i]) ? 0 : width_of("not ") - prefix;
      as_it_is += gap == width_of(is_or ? " or " : " and ") + prefix ? 1 : 0;
      as_negated += gap == width_of(is_or ? " and " : " or ") + opposite_prefix ? 1 : 0;
    }
    if (as_negated == 0 || as_it_is > 0) continue;
    tree.set(node, ast::UnaryOp{static_cast<uint32_t>(ast::UnaryOperator::Not),
                                opposite(tree, tree.copy(node))});
  }
}

}  // namespace pellucid::polish
