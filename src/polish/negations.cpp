// SPDX-License-Identifier: Apache-2.0
#include "polish/negations.h"

#include <vector>

namespace pellucid::polish {

using ast::CmpOperator;
using ast::Kind;
using ast::NodeId;

namespace {

constexpr auto kNot = static_cast<uint32_t>(ast::UnaryOperator::Not);
constexpr size_t kLevels = 4;

NodeId opposite_within(ast::Tree& tree, NodeId test, size_t levels) {
  if (is_not(tree, test)) return tree.as<ast::UnaryOp>(test).operand;
  if (const auto op = opposite_operator(tree, test)) {
    auto compare = tree.as<ast::Compare>(test);
    const auto number = static_cast<uint32_t>(*op);
    compare.ops = tree.numbers(std::span<const uint32_t>(&number, 1));
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

std::optional<CmpOperator> opposite(CmpOperator op) {
  switch (op) {
    case CmpOperator::Is:
      return CmpOperator::IsNot;
    case CmpOperator::IsNot:
      return CmpOperator::Is;
    case CmpOperator::In:
      return CmpOperator::NotIn;
    case CmpOperator::NotIn:
      return CmpOperator::In;
    case CmpOperator::Lt:
    case CmpOperator::LtE:
    case CmpOperator::Eq:
    case CmpOperator::NotEq:
    case CmpOperator::Gt:
    case CmpOperator::GtE:
      return std::nullopt;
  }
  return std::nullopt;
}

std::optional<CmpOperator> opposite_operator(const ast::Tree& tree, NodeId node) {
  if (!tree.is(node, Kind::Compare)) return std::nullopt;
  const auto ops = tree.numbers(tree.as<ast::Compare>(node).ops);
  if (ops.size() != 1) return std::nullopt;
  return opposite(static_cast<CmpOperator>(ops[0]));
}

NodeId opposite(ast::Tree& tree, NodeId test) { return opposite_within(tree, test, kLevels); }

}  // namespace pellucid::polish
