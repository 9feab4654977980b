// SPDX-License-Identifier: Apache-2.0
#include "verify/lower/folding.h"

#include <bit>
#include <cmath>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ast/nodes.h"

namespace pellucid::verify::lower {

namespace {

// Returns true if a node is one token; a number with a sign is not.
bool is_literal(const Unit& unit, NodeId node) {
  if (!unit.tree.is(node, Kind::Constant)) return false;
  const object::Const& value = unit.module[unit.tree.as<ast::Constant>(node).value];
  if (value.kind == object::ConstKind::Complex) {
    return !std::signbit(value.imag) && value.real == 0 && !std::signbit(value.real);
  }
  return ast::is_one_literal(unit.module, value);
}

// The NaN that x86-64 makes of other numbers.
constexpr uint64_t kNan = 0xfff8000000000000u;
constexpr uint64_t kSign = 0x8000000000000000u;

// Returns true if a text can have the constant, its items apart. It can have one NaN, and a float
// of the other sign. A complex number is a sum: an imaginary NaN loses the sign of a real -0.0.
// What is mutable is made anew each time, and a name may be bound to something else.
bool has_exact_text(const object::Const& value) {
  if (value.kind == object::ConstKind::Float) {
    return !std::isnan(value.real) || (std::bit_cast<uint64_t>(value.real) | kSign) == kNan;
  }
  if (value.kind == object::ConstKind::Complex) {
    const auto is_exact = [](double part) {
      return !std::isnan(part) || std::bit_cast<uint64_t>(part) == kNan;
    };
    const bool is_negative_zero = value.real == 0 && std::signbit(value.real);
    return is_exact(value.real) && is_exact(value.imag) &&
           !(is_negative_zero && std::isnan(value.imag));
  }
  switch (value.kind) {
    case object::ConstKind::StopIteration:
    case object::ConstKind::FrozenSet:
    case object::ConstKind::List:
    case object::ConstKind::Set:
    case object::ConstKind::Dict:
    case object::ConstKind::Slice:
    case object::ConstKind::Code:
    case object::ConstKind::Opaque:
      return false;
    default:
      return true;
  }
}

}  // namespace

bool folds_here(const Unit& unit) {
  return unit.features.folds_within_walrus || unit.walruses == 0;
}

bool has_literal(const Unit& unit, ConstId value) {
  if (unit.module[value].items.empty()) return has_exact_text(unit.module[value]);
  std::vector<ConstId> todo{value};
  std::unordered_set<ConstId> known;
  while (!todo.empty()) {
    const object::Const& one = unit.module[todo.back()];
    todo.pop_back();
    if (!has_exact_text(one)) return false;
    for (const ConstId item : one.items) {
      if (known.insert(item).second) todo.push_back(item);
    }
  }
  return true;
}

std::optional<ConstId> constant_of(Unit& unit, NodeId node) {
  if (unit.tree.is(node, Kind::Constant)) {
    const ConstId value = unit.tree.as<ast::Constant>(node).value;
    return has_literal(unit, value) ? std::optional(value) : std::nullopt;
  }
  if (unit.tree.is(node, Kind::Tuple)) {
    std::vector<ConstId> items;
    for (NodeId item : unit.tree.items(unit.tree.as<ast::Tuple>(node).elts)) {
      const auto constant = constant_of(unit, item);
      if (!constant) return std::nullopt;
      items.push_back(*constant);
    }
    return unit.constants.tuple(items);
  }
  if (unit.tree.is(node, Kind::UnaryOp) && folds_here(unit)) {
    const auto operation = unit.tree.as<ast::UnaryOp>(node);
    if (!unit.tree.is(operation.operand, Kind::Constant)) return std::nullopt;
    const ConstId value = unit.tree.as<ast::Constant>(operation.operand).value;
    if (has_literal(unit, value)) return folded_unary(unit, operation.op, value);
  }
  return std::nullopt;
}

std::optional<ConstId> folded_unary(Unit& unit, uint32_t op, ConstId operand) {
  using object::ConstKind;
  const auto which = static_cast<ast::UnaryOperator>(op);
  const bool inverts = which == ast::UnaryOperator::Invert;
  object::Const value = unit.module[operand];
  if (which == ast::UnaryOperator::Not) {
    object::Const truth;
    truth.kind = object::is_true(unit.module, value) ? ConstKind::False : ConstKind::True;
    return unit.module.add(std::move(truth));
  }
  if (value.kind == ConstKind::True || value.kind == ConstKind::False) {
    if (inverts && unit.features.folds_late) return std::nullopt;
    value.integer = value.kind == ConstKind::True ? 1 : 0;
    value.kind = ConstKind::Int;
  }
  const bool keeps = which == ast::UnaryOperator::UAdd;
  switch (value.kind) {
    case ConstKind::Int:
      if (inverts) {
        value.integer = ~value.integer;
      } else if (!keeps) {
        if (value.integer == INT64_MIN) give_up("an operation on a large number");
        value.integer = -value.integer;
      }
      return unit.module.add(std::move(value));
    case ConstKind::BigInt:
      if (!keeps) give_up("an operation on a large number");
      return operand;
    case ConstKind::Float:
    case ConstKind::Complex:
      if (inverts) return std::nullopt;
      if (keeps) return operand;
      value.real = -value.real;
      value.imag = -value.imag;
      return unit.module.add(std::move(value));
    default:  // NOLINT: raises
      return std::nullopt;
  }
}

std::optional<ConstId> constant_slice(Unit& unit, const ast::Slice& node) {
  if (!unit.features.constant_slices) return std::nullopt;
  object::Const folded;
  folded.kind = object::ConstKind::Slice;
  for (NodeId part : {node.lower, node.upper, node.step}) {
    if (part.valid() && !is_literal(unit, part)) return std::nullopt;
    folded.items.push_back(part.valid() ? unit.tree.as<ast::Constant>(part).value
                                        : unit.constants.none());
  }
  return unit.module.add(std::move(folded));
}

std::optional<bool> truth_of(const Unit& unit, NodeId node) {
  if (!unit.tree.is(node, Kind::Constant)) return std::nullopt;
  const object::Const& value = unit.module[unit.tree.as<ast::Constant>(node).value];
  switch (value.kind) {
    case object::ConstKind::None:
    case object::ConstKind::False:
      return false;
    case object::ConstKind::True:
    case object::ConstKind::Ellipsis:
      return true;
    case object::ConstKind::Int:
      return value.integer != 0;
    case object::ConstKind::Str:
    case object::ConstKind::Bytes:
      return !unit.module.text(value.text).empty();
    default:  // NOLINT: known at run time only
      return std::nullopt;
  }
}

}  // namespace pellucid::verify::lower
