// SPDX-License-Identifier: Apache-2.0
#include "polish/negations.h"

#include <vector>

namespace pellucid::polish {

using ast::Kind;
using ast::NodeId;

namespace {

constexpr auto kNot = static_cast<uint32_t>(ast::UnaryOperator::Not);
constexpr size_t kLevels = 4;

NodeId opposite_within(ast::Tree& tree, NodeId test, size_t levels) {
  if (is_not(tree, test)) return tree.as<ast::UnaryOp>(test).operand;
  if (const auto op = opposite_operator(tree, test)) {
    auto compare = tree.as<ast::Compare>(test);
    compare.ops = tree.numbers({{static_cast<uint32_t>(*op)}});
    return tree.add(compare, tree.where(test));
  }
  const bool is_operation = tree.is(test, Kind::BoolOp) && levels > 0;
  if (!is_operation || tree.as<ast::BoolOp>(test).is_tested_again) {
    return tree.add(ast::UnaryOp{kNot, test}, tree.where(test));
  }
  auto both = tree.as<ast::BoolOp>(test);
  const bool is_and = both.op == kAnd;
  both.op = is_and ? kOr : kAnd;
  const auto list = tree.items(both.values);
  std::vector<NodeId> values(list.begin(), list.end());
  for (NodeId& value : values) value = opposite_within(tree, value, levels - 1);
  both.values = tree.list(values);
  return tree.add(both, tree.where(test));
}

}  // namespace

bool is_not(const ast::Tree& tree, NodeId node) {
  return tree.is(node, Kind::UnaryOp) && tree.as<ast::UnaryOp>(node).op == kNot;
}

std::vector<NodeId> operands_of(const ast::Tree& tree, NodeId test, uint32_t op) {
  if (!tree.is(test, Kind::BoolOp)) return {};
  const auto both = tree.as<ast::BoolOp>(test);
  if (both.op != op || both.is_tested_again) return {};
  const auto values = tree.items(both.values);
  return {values.begin(), values.end()};
}

NodeId joined(ast::Tree& tree, std::span<const NodeId> values, uint32_t op) {
  if (values.size() == 1) return values[0];
  return tree.add(ast::BoolOp{op, tree.list(values), 0}, tree.where(values[0]));
}

NodeId opposite(ast::Tree& tree, NodeId test) { return opposite_within(tree, test, kLevels); }

}  // namespace pellucid::polish
