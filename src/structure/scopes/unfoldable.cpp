// SPDX-License-Identifier: Apache-2.0
#include "structure/scopes/unfoldable.h"

#include <cmath>
#include <vector>

#include "ast/nodes.h"

namespace pellucid::structure {

using ast::Kind;
using ast::NodeId;
using object::Const;
using object::ConstKind;
using Nodes = std::vector<NodeId>;

NodeId always_statement(ast::Tree& tree, NodeId statement) {
  const ast::Where at = tree.where(statement);
  return tree.add(ast::If{constant_node(tree, ConstKind::True, at), tree.list({statement}), {}},
                  at);
}

NodeId chosen_always(ast::Tree& tree, NodeId value, bool jumps) {
  const ast::Where at = tree.where(value);
  const NodeId test = constant_node(tree, jumps ? ConstKind::True : ConstKind::False, at);
  const NodeId other = none_node(tree, at);
  return tree.add(jumps ? ast::IfExp{test, value, other} : ast::IfExp{test, other, value}, at);
}

NodeId tested_condition(ast::Tree& tree, NodeId test) {
  const auto op_not = static_cast<uint32_t>(ast::UnaryOperator::Not);
  const ast::Where at = tree.where(test);
  if (tree.is(test, Kind::UnaryOp)) {
    const auto unary = tree.as<ast::UnaryOp>(test);
    if (unary.op != op_not || !tree.is(unary.operand, Kind::Constant)) return test;
    return tree.add(ast::UnaryOp{op_not, tested_condition(tree, unary.operand)}, at);
  }
  if (!tree.is(test, Kind::Constant)) return test;
  const auto op_and = static_cast<uint32_t>(ast::BoolOperator::And);
  return tree.add(ast::BoolOp{op_and, tree.list({constant_node(tree, ConstKind::True, at), test})},
                  at);
}

bool is_atom(const ast::Tree& tree, NodeId node) {
  const Const* value = constant_of(tree, node);
  if (!value) return false;
  switch (value->kind) {
    case ConstKind::Int:
      return value->integer >= 0;
    case ConstKind::BigInt:
      return !tree.module().text(value->text).starts_with('-');
    case ConstKind::Float:
      return !std::signbit(value->real);
    case ConstKind::Complex:
      return value->real == 0 && !std::signbit(value->real) && !std::signbit(value->imag);
    default:  // NOLINT: of the others tuples and sets are displays
      return value->kind != ConstKind::Tuple && value->kind != ConstKind::FrozenSet;
  }
}

NodeId tested_operand(ast::Tree& tree, NodeId operand) {
  const Const* value = constant_of(tree, operand);
  if (!value || value->kind == ConstKind::Opaque) return operand;
  const auto op =
      object::is_true(tree.module(), *value) ? ast::BoolOperator::Or : ast::BoolOperator::And;
  const ast::Where at = tree.where(operand);
  const NodeId again = tree.add(tree.as<ast::Constant>(operand), at);
  return tree.add(ast::BoolOp{static_cast<uint32_t>(op), tree.list({operand, again})}, at);
}

NodeId after_constant(ast::Tree& tree, NodeId constant, NodeId value) {
  if (!constant.valid()) return value;
  const bool is_true = object::is_true(tree.module(), *constant_of(tree, constant));
  const auto op = static_cast<uint32_t>(is_true ? ast::BoolOperator::And : ast::BoolOperator::Or);
  Nodes values{constant};
  if (tree.is(value, Kind::BoolOp) && tree.as<ast::BoolOp>(value).op == op) {
    const auto inner = tree.items(tree.as<ast::BoolOp>(value).values);
    values.insert(values.end(), inner.begin(), inner.end());
  } else {
    values.push_back(value);
  }
  return tree.add(ast::BoolOp{op, tree.list(values)}, tree.where(value));
}

NodeId constant_truth(ast::Tree& tree, NodeId operand) {
  const bool is_true = is_constant(tree, operand, ConstKind::True);
  if (!is_true && !is_constant(tree, operand, ConstKind::False)) return operand;
  const ast::Where at = tree.where(operand);
  Const text;
  text.kind = ConstKind::Str;
  text.text = tree.intern("_");
  Nodes parts;
  if (is_true) parts.push_back(tree.add(ast::Constant{tree.module().add(text)}, at));
  return tree.add(ast::JoinedStr{tree.list(parts)}, at);
}

}  // namespace pellucid::structure
