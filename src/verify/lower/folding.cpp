// SPDX-License-Identifier: Apache-2.0
#include "verify/lower/folding.h"

#include <cmath>
#include <utility>
#include <vector>

namespace pellucid::verify::lower {

namespace {

// Returns true if a node is one token; a number with a sign is not.
bool is_literal(const Unit& unit, NodeId node) {
  if (!unit.tree.is(node, Kind::Constant)) return false;
  const object::Const& value = unit.module[unit.tree.as<ast::Constant>(node).value];
  switch (value.kind) {
    case object::ConstKind::Int:
      return value.integer >= 0;
    case object::ConstKind::BigInt:
      return !unit.module.text(value.text).starts_with('-');
    case object::ConstKind::Float:
      return !std::signbit(value.real);
    case object::ConstKind::Complex:
      return !std::signbit(value.imag) && value.real == 0 && !std::signbit(value.real);
    case object::ConstKind::None:
    case object::ConstKind::False:
    case object::ConstKind::True:
    case object::ConstKind::Ellipsis:
    case object::ConstKind::Str:
    case object::ConstKind::Bytes:
      return true;
    default:
      return false;
  }
}

}  // namespace

bool folds_here(const Unit& unit) {
  return unit.features.folds_within_walrus || unit.walruses == 0;
}

bool has_literal(const Unit& unit, ConstId value) {
  const object::ConstKind kind = unit.module[value].kind;
  return kind != object::ConstKind::Code && kind != object::ConstKind::Opaque;
}

std::optional<ConstId> constant_of(Unit& unit, NodeId node) {
  if (unit.tree.is(node, Kind::Constant)) return unit.tree.as<ast::Constant>(node).value;
  if (unit.tree.is(node, Kind::Tuple)) {
    std::vector<ConstId> items;
    for (NodeId item : unit.tree.items(unit.tree.as<ast::Tuple>(node).elts)) {
      const auto constant = constant_of(unit, item);
      if (!constant) return std::nullopt;
      items.push_back(*constant);
    }
    return unit.constants.tuple(items);
  }
  if (unit.tree.is(node, Kind::UnaryOp)) {
    const auto operation = unit.tree.as<ast::UnaryOp>(node);
    if (!folds_here(unit) || !unit.tree.is(operation.operand, Kind::Constant)) return std::nullopt;
    object::Const value = unit.module[unit.tree.as<ast::Constant>(operation.operand).value];
    if (operation.op != static_cast<uint32_t>(ast::UnaryOperator::USub)) return std::nullopt;
    if (value.kind == object::ConstKind::Int && value.integer > INT64_MIN) {
      value.integer = -value.integer;
    } else if (value.kind == object::ConstKind::Float) {
      value.real = -value.real;
    } else if (value.kind == object::ConstKind::Complex) {
      value.real = -value.real;
      value.imag = -value.imag;
    } else {
      return std::nullopt;
    }
    return unit.module.add(std::move(value));
  }
  return std::nullopt;
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
