// SPDX-License-Identifier: Apache-2.0
#include "ast/nodes.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

namespace pellucid::ast {

using object::Const;
using object::ConstKind;

NodeId name_node(Tree& tree, std::string_view name, Where where) {
  return tree.add(Name{tree.intern(name)}, where);
}

NodeId none_node(Tree& tree, Where where) {
  return tree.add(Constant{tree.module().add(Const{})}, where);
}

NodeId constant_node(Tree& tree, object::ConstKind kind, Where where) {
  Const constant;
  constant.kind = kind;
  return tree.add(Constant{tree.module().add(constant)}, where);
}

const Const* constant_of(const Tree& tree, NodeId node) {
  if (!tree.is(node, Kind::Constant)) return nullptr;
  return &tree.module()[tree.as<Constant>(node).value];
}

bool is_constant(const Tree& tree, NodeId node, object::ConstKind kind) {
  const Const* constant = constant_of(tree, node);
  return constant && constant->kind == kind;
}

bool is_none(const Tree& tree, NodeId node) {
  const Const* constant = constant_of(tree, node);
  return constant && constant->kind == ConstKind::None;
}

bool is_name(const Tree& tree, NodeId node, std::string_view name) {
  return tree.is(node, Kind::Name) && tree.text(tree.as<Name>(node).id) == name;
}

bool is_name(const Tree& tree, NodeId node, Symbol name) {
  return tree.is(node, Kind::Name) && tree.as<Name>(node).id == name;
}

NodeId only_target(const Tree& tree, NodeId statement) {
  if (!tree.is(statement, Kind::Assign)) return {};
  const auto targets = tree.items(tree.as<Assign>(statement).targets);
  return targets.size() == 1 ? targets[0] : NodeId();
}

NodeId assigned_to(const Tree& tree, NodeId statement, std::string_view name) {
  const NodeId target = only_target(tree, statement);
  if (!target.valid() || !is_name(tree, target, name)) return {};
  return tree.as<Assign>(statement).value;
}

bool is_future_import(const Tree& tree, NodeId statement) {
  if (!tree.is(statement, Kind::ImportFrom)) return false;
  const Symbol module = tree.as<ImportFrom>(statement).module;
  return module.valid() && tree.text(module) == "__future__";
}

bool takes_everything(const Tree& tree, NodeId pattern) {
  std::vector<NodeId> todo{pattern};
  while (!todo.empty()) {
    const NodeId id = todo.back();
    todo.pop_back();
    if (!id.valid()) return true;
    if (tree.is(id, Kind::MatchAs)) {
      todo.push_back(tree.as<MatchAs>(id).pattern);
    } else if (tree.is(id, Kind::MatchOr)) {
      const auto alternatives = tree.items(tree.as<MatchOr>(id).patterns);
      todo.insert(todo.end(), alternatives.begin(), alternatives.end());
    }
  }
  return false;
}

bool is_one_literal(const object::Module& module, const Const& constant) {
  switch (constant.kind) {
    case ConstKind::None:
    case ConstKind::False:
    case ConstKind::True:
    case ConstKind::Ellipsis:
    case ConstKind::Str:
    case ConstKind::Bytes:
      return true;
    case ConstKind::Int:
      return constant.integer >= 0;
    case ConstKind::BigInt:
      return !module.text(constant.text).starts_with('-');
    case ConstKind::Float:
      return !std::signbit(constant.real);
    case ConstKind::Complex:
    case ConstKind::StopIteration:
    case ConstKind::Tuple:
    case ConstKind::List:
    case ConstKind::Set:
    case ConstKind::FrozenSet:
    case ConstKind::Dict:
    case ConstKind::Slice:
    case ConstKind::Code:
    case ConstKind::Opaque:
      return false;
  }
  return false;
}

std::optional<CmpOperator> opposite_operator(const Tree& tree, NodeId node) {
  if (!tree.is(node, Kind::Compare)) return std::nullopt;
  const auto ops = tree.numbers(tree.as<Compare>(node).ops);
  // Is, IsNot, In, NotIn: adjacent ones negate each other.
  const auto first = static_cast<uint32_t>(CmpOperator::Is);
  if (ops.size() != 1 || ops[0] < first) return std::nullopt;
  return static_cast<CmpOperator>(first + ((ops[0] - first) ^ 1u));
}

namespace {

// Returns true if an operation has an operand such as `a is b` or `a in b`.
bool has_identity_test(const Tree& tree, NodeId operation) {
  std::vector<NodeId> todo{operation};
  while (!todo.empty()) {
    const NodeId node = todo.back();
    todo.pop_back();
    if (tree.is(node, Kind::BoolOp)) {
      const auto values = tree.items(tree.as<BoolOp>(node).values);
      todo.insert(todo.end(), values.begin(), values.end());
    } else if (opposite_operator(tree, node)) {
      return true;
    }
  }
  return false;
}

}  // namespace

NodeId negated(Tree& tree, NodeId node, bool keeps_comparisons) {
  const uint32_t op_not = static_cast<uint32_t>(UnaryOperator::Not);
  if (tree.is(node, Kind::UnaryOp)) {
    const auto unary = tree.as<UnaryOp>(node);
    if (unary.op == op_not) return unary.operand;
  }
  const auto is_folded = [&](NodeId value) { return tree.is(value, Kind::Constant); };
  const auto items = tree.is(node, Kind::BoolOp) ? tree.items(tree.as<BoolOp>(node).values)
                                                 : std::span<const NodeId>();
  // A constant that is tested is no longer one that is loaded when it is negated.
  if (!items.empty() && std::none_of(items.begin(), items.end(), is_folded) &&
      !(keeps_comparisons && has_identity_test(tree, node))) {
    // De Morgan: the same jumps.
    auto both = tree.as<BoolOp>(node);
    both.op ^= 1u;
    std::vector<NodeId> values(items.begin(), items.end());
    for (NodeId& value : values) value = negated(tree, value, keeps_comparisons);
    both.values = tree.list(values);
    tree.set(node, both);
    return node;
  }
  if (const auto op = opposite_operator(tree, node)) {
    auto compare = tree.as<Compare>(node);
    compare.ops = tree.numbers({{static_cast<uint32_t>(*op)}});
    tree.set(node, compare);
    return node;
  }
  return tree.add(UnaryOp{op_not, node}, tree.where(node));
}

NodeId or_true(Tree& tree, NodeId node) {
  const auto op = static_cast<uint32_t>(BoolOperator::Or);
  std::vector<NodeId> values{node};
  if (tree.is(node, Kind::BoolOp) && tree.as<BoolOp>(node).op == op) {
    const auto items = tree.items(tree.as<BoolOp>(node).values);
    values.assign(items.begin(), items.end());
  }
  values.push_back(constant_node(tree, object::ConstKind::True));
  return tree.add(BoolOp{op, tree.list(values)}, tree.where(node));
}

bool is_unstructured(const Tree& tree, ListId body) {
  const auto items = tree.items(body);
  return std::any_of(items.begin(), items.end(),
                     [&](NodeId statement) { return tree.is(statement, Kind::Unstructured); });
}

}  // namespace pellucid::ast
