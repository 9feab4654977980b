// SPDX-License-Identifier: Apache-2.0
#include "print/precedence.h"

#include "print/literals.h"

namespace pellucid::print {

Level level_of(const object::Module& module, object::ConstId id, object::Version version) {
  const object::Const& value = module[id];
  switch (value.kind) {
    case object::ConstKind::Int:
      return value.integer < 0 ? Level::Factor : Level::Primary;
    case object::ConstKind::BigInt:
      return module.text(value.text).starts_with('-') ? Level::Factor : Level::Primary;
    case object::ConstKind::Float:
    case object::ConstKind::Complex:
      return number_of(module, value, version).level;
    case object::ConstKind::Tuple:
      return value.items.empty() || value.text.valid() ? Level::Primary : Level::Tuple;
    case object::ConstKind::None:
    case object::ConstKind::False:
    case object::ConstKind::True:
    case object::ConstKind::Ellipsis:
    case object::ConstKind::StopIteration:
    case object::ConstKind::Str:
    case object::ConstKind::Bytes:
    case object::ConstKind::List:
    case object::ConstKind::Set:
    case object::ConstKind::FrozenSet:
    case object::ConstKind::Dict:
    case object::ConstKind::Slice:
    case object::ConstKind::Code:
    case object::ConstKind::Opaque:
      return Level::Primary;
  }
  return Level::Primary;
}

Level level_of(const ast::Tree& tree, ast::NodeId id) {
  using ast::Kind;
  switch (tree.kind(id)) {
    case Kind::BoolOp: {
      const auto op = static_cast<ast::BoolOperator>(tree.as<ast::BoolOp>(id).op);
      return op == ast::BoolOperator::And ? Level::And : Level::Or;
    }
    case Kind::NamedExpr:
      return Level::Named;
    case Kind::BinOp:
      return kBinary[tree.as<ast::BinOp>(id).op].level;
    case Kind::UnaryOp: {
      const auto op = static_cast<ast::UnaryOperator>(tree.as<ast::UnaryOp>(id).op);
      return op == ast::UnaryOperator::Not ? Level::Not : Level::Factor;
    }
    case Kind::Lambda:
    case Kind::IfExp:
      return Level::Test;
    case Kind::Compare:
      return Level::Compare;
    case Kind::Await:
      return Level::Await;
    case Kind::Yield:
    case Kind::YieldFrom:
      return Level::Yield;
    case Kind::Tuple:
      return tree.items(tree.as<ast::Tuple>(id).elts).empty() ? Level::Primary : Level::Tuple;
    default:
      return Level::Primary;
  }
}

}  // namespace pellucid::print
