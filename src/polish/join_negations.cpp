// SPDX-License-Identifier: Apache-2.0
// `not a or not b` compiles to the jumps of `not (a and b)`. From 3.11 on, the columns between the
// operands show which word was written there. Where nothing shows it, the form with fewer `not` is
// taken.
#include <unordered_set>
#include <utility>

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

// Returns how many words between the operands are those of the expression, and how many those of
// its opposite.
std::pair<size_t, size_t> words_between(const ast::Tree& tree, NodeId node, const Starts& starts) {
  const auto both = tree.as<ast::BoolOp>(node);
  const auto values = tree.items(both.values);
  const bool is_or = both.op == static_cast<uint32_t>(ast::BoolOperator::Or);
  size_t as_it_is = 0, as_negated = 0;
  for (size_t i = 1; i < values.size() && starts.known(); ++i) {
    const int32_t gap = starts.gap(values[i - 1], values[i]);
    const int32_t prefix = is_not(tree, values[i]) ? width_of("not ") : 0;
    const int32_t opposite_prefix =
        opposite_operator(tree, values[i]) ? 0 : width_of("not ") - prefix;
    as_it_is += gap == width_of(is_or ? " or " : " and ") + prefix ? 1 : 0;
    as_negated += gap == width_of(is_or ? " and " : " or ") + opposite_prefix ? 1 : 0;
  }
  return {as_it_is, as_negated};
}

// Before: `not not (a and b)`, `not (not a or b)`. After: `a and b`, `a and not b`. Nobody writes a
// `not` that makes more of them necessary, and only the truth is asked for.
void drop_negation(ast::Tree& tree, NodeId node, NodeId operand) {
  if (is_not(tree, operand)) {
    const NodeId value = tree.as<ast::UnaryOp>(operand).operand;
    if (tree.is(value, Kind::BoolOp)) tree.set(node, tree.as<ast::BoolOp>(value));
    return;
  }
  if (!tree.is(operand, Kind::BoolOp)) return;
  const auto both = tree.as<ast::BoolOp>(operand);
  if (both.is_tested_again) return;
  size_t nots = 1, opposites = 0;
  for (const NodeId value : tree.items(both.values)) {
    if (tree.is(value, Kind::BoolOp) || tree.is(value, Kind::Constant)) return;
    if (opposite_operator(tree, value)) continue;
    (is_not(tree, value) ? nots : opposites) += 1;
  }
  if (nots == 1 || nots <= opposites) return;
  const NodeId made = opposite(tree, operand);
  if (tree.is(made, Kind::BoolOp)) tree.set(node, tree.as<ast::BoolOp>(made));
}

}  // namespace

void join_negations(ast::Tree& tree, const std::vector<NodeId>& nodes, const Starts& starts) {
  std::vector<NodeId> todo = tests(tree, nodes), seen;
  std::unordered_set<NodeId> as_written;
  while (!todo.empty()) {
    const NodeId node = todo.back();
    todo.pop_back();
    seen.push_back(node);
    if (is_not(tree, node)) todo.push_back(tree.as<ast::UnaryOp>(node).operand);
    if (!tree.is(node, Kind::BoolOp) || tree.as<ast::BoolOp>(node).is_tested_again) continue;
    const auto values = tree.items(tree.as<ast::BoolOp>(node).values);
    todo.insert(todo.end(), values.begin(), values.end());
    const auto [as_it_is, as_negated] = words_between(tree, node, starts);
    if (as_it_is > 0) as_written.insert(node);
    if (as_negated == 0 || as_it_is > 0) continue;
    const NodeId operand = opposite(tree, tree.copy(node));
    as_written.insert(operand);
    tree.set(node, ast::UnaryOp{static_cast<uint32_t>(ast::UnaryOperator::Not), operand});
  }
  for (const NodeId node : seen) {
    if (!is_not(tree, node)) continue;
    const NodeId operand = tree.as<ast::UnaryOp>(node).operand;
    if (!as_written.contains(operand)) drop_negation(tree, node, operand);
  }
}

}  // namespace pellucid::polish
