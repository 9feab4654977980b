// SPDX-License-Identifier: Apache-2.0
#include "verify/lower/expressions.h"

#include "verify/lower/assignments.h"
#include "verify/lower/calls.h"
#include "verify/lower/comprehensions.h"
#include "verify/lower/computed.h"
#include "verify/lower/conditions.h"
#include "verify/lower/displays.h"
#include "verify/lower/folding.h"
#include "verify/lower/functions.h"
#include "verify/lower/left_spines.h"
#include "verify/lower/names.h"
#include "verify/lower/strings.h"

namespace pellucid::verify::lower {

namespace {

// Pushes a constant that the text can write.
void load_literal(Unit& unit, ConstId value) {
  // In the text an unbound name takes its place.
  if (!has_literal(unit, value)) give_up("a constant without a literal");
  load(unit, value);
}

void slice(Unit& unit, const ast::Slice& node) {
  if (const auto constant = constant_slice(unit, node)) return load(unit, *constant);
  expression_or_none(unit, node.lower);
  expression_or_none(unit, node.upper);
  if (node.step.valid()) expression(unit, node.step);
  unit.emit.op(Op::BuildSlice, node.step.valid() ? 3 : 2);
}

// Lowers an expression within the limit of nesting.
void expression_in(Unit& unit, NodeId node) {
  switch (unit.tree.kind(node)) {
    case Kind::Constant:
      return load_literal(unit, unit.tree.as<ast::Constant>(node).value);
    case Kind::Name:
      return load_name(unit, unit.tree.as<ast::Name>(node).id);
    case Kind::BoolOp:
      return boolean(unit, unit.tree.as<ast::BoolOp>(node));
    case Kind::NamedExpr: {
      const auto named = unit.tree.as<ast::NamedExpr>(node);
      ++unit.walruses;
      expression(unit, named.value);
      --unit.walruses;
      unit.emit.op(Op::Copy, 1);
      return assign(unit, named.target);
    }
    case Kind::BinOp:
    case Kind::Call:
    case Kind::Attribute:
    case Kind::Subscript:
      return left_spine(unit, node);
    case Kind::UnaryOp:
      expression(unit, unit.tree.as<ast::UnaryOp>(node).operand);
      return unary(unit, unit.tree.as<ast::UnaryOp>(node));
    case Kind::Lambda:
      return lambda(unit, node);
    case Kind::IfExp:
      return conditional(unit, unit.tree.as<ast::IfExp>(node));
    case Kind::Dict:
      return dictionary(unit, unit.tree.as<ast::Dict>(node));
    case Kind::Set:
      return sequence(unit, Display::Set, unit.tree.items(unit.tree.as<ast::Set>(node).elts));
    case Kind::List:
      return sequence(unit, Display::List, unit.tree.items(unit.tree.as<ast::List>(node).elts));
    case Kind::Tuple:
      if (const auto constant = constant_of(unit, node)) return load(unit, *constant);
      refuse_chosen(unit, unit.tree.items(unit.tree.as<ast::Tuple>(node).elts));
      return sequence(unit, Display::Tuple, unit.tree.items(unit.tree.as<ast::Tuple>(node).elts));
    case Kind::ListComp:
    case Kind::SetComp:
    case Kind::DictComp:
    case Kind::GeneratorExp:
      return comprehension(unit, node);
    case Kind::Await:
      expression(unit, unit.tree.as<ast::Await>(node).value);
      return await(unit, 0);
    case Kind::Yield:
      expression_or_none(unit, unit.tree.as<ast::Yield>(node).value);
      return yield_value(unit);
    case Kind::YieldFrom:
      expression(unit, unit.tree.as<ast::YieldFrom>(node).value);
      unit.emit.op(Op::GetYieldFromIter);
      load_none(unit);
      return unit.emit.op(Op::YieldFrom);
    case Kind::Compare:
      return comparison(unit, unit.tree.as<ast::Compare>(node));
    case Kind::FormattedValue:
      return formatted_value(unit, unit.tree.as<ast::FormattedValue>(node));
    case Kind::JoinedStr:
      return joined_string(unit, unit.tree.as<ast::JoinedStr>(node));
    case Kind::TemplateStr:
      return template_string(unit, unit.tree.as<ast::TemplateStr>(node));
    case Kind::Slice:
      return slice(unit, unit.tree.as<ast::Slice>(node));
    default:  // NOLINT: no expressions
      give_up(std::string(ast::name_of(unit.tree.kind(node))) + " not supported");
  }
}

}  // namespace

void expression(Unit& unit, NodeId node) {
  if (++unit.nesting > kDeepest) give_up("expressions are nested too deep");
  expression_in(unit, node);
  --unit.nesting;
}

void expressions(Unit& unit, std::span<const NodeId> nodes) {
  for (NodeId node : nodes) expression(unit, node);
}

void expression_or_none(Unit& unit, NodeId node) {
  if (node.valid()) {
    expression(unit, node);
  } else {
    load_none(unit);
  }
}

void await(Unit& unit, uint32_t kind) {
  unit.emit.op(Op::GetAwaitable, unit.features.says_why_it_awaits ? kind : 0);
  load_none(unit);
  unit.emit.op(Op::YieldFrom);
}

void yield_value(Unit& unit) {
  if (unit.scope.is_coroutine) unit.emit.op(Op::Intrinsic1, bytecode::kAsyncGenWrap);
  unit.emit.op(Op::YieldValue);
}

}  // namespace pellucid::verify::lower
