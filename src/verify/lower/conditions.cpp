// SPDX-License-Identifier: Apache-2.0
#include "verify/lower/conditions.h"

#include <functional>

#include "ast/lines.h"
#include "verify/lower/displays.h"
#include "verify/lower/expressions.h"

namespace pellucid::verify::lower {

namespace {

void compare(Unit& unit, uint32_t op) {
  switch (static_cast<ast::CmpOperator>(op)) {
    case ast::CmpOperator::Is:
      return unit.emit.op(Op::IsOp, 0);
    case ast::CmpOperator::IsNot:
      return unit.emit.op(Op::IsOp, 1);
    case ast::CmpOperator::In:
      return unit.emit.op(Op::ContainsOp, 0);
    case ast::CmpOperator::NotIn:
      return unit.emit.op(Op::ContainsOp, 1);
    case ast::CmpOperator::Lt:
    case ast::CmpOperator::LtE:
    case ast::CmpOperator::Eq:
    case ast::CmpOperator::NotEq:
    case ast::CmpOperator::Gt:
    case ast::CmpOperator::GtE:
      return unit.emit.op(Op::Compare, op);
  }
}

bool is_membership(uint32_t op) {
  return op == static_cast<uint32_t>(ast::CmpOperator::In) ||
         op == static_cast<uint32_t>(ast::CmpOperator::NotIn);
}

// Pushes the last operand of a chain of comparisons.
void last_operand(Unit& unit, const ast::Compare& chain) {
  const NodeId last = unit.tree.items(chain.comparators).back();
  if (is_membership(unit.tree.numbers(chain.ops).back())) return iterated(unit, last, true);
  expression(unit, last);
}

// Keeps a copy of the operand on the stack below both.
void keep_operand(Unit& unit) {
  unit.emit.op(unit.features.swaps ? Op::Swap : Op::Copy, unit.features.swaps ? 2 : 1);
  unit.emit.op(unit.features.swaps ? Op::Copy : Op::Rot, unit.features.swaps ? 2 : 3);
}

// Jumps to `to` if the truth of a chain of comparisons is `when`.
void chain_jump_if(Unit& unit, const ast::Compare& chain, bool when, Label to) {
  const auto ops = unit.tree.numbers(chain.ops);
  const auto others = unit.tree.items(chain.comparators);
  const Label cleanup = unit.emit.label();
  const Label end = unit.emit.label();
  expression(unit, chain.left);
  for (size_t i = 0; i + 1 < ops.size(); ++i) {
    expression(unit, others[i]);
    keep_operand(unit);
    compare(unit, ops[i]);
    unit.emit.branch(false, cleanup);
  }
  last_operand(unit, chain);
  compare(unit, ops.back());
  unit.emit.branch(when, to);
  unit.emit.jump(end);
  unit.emit.place(cleanup);
  unit.emit.op(Op::Pop);
  if (!when) unit.emit.jump(to);
  unit.emit.place(end);
}

// Jumps to `to` if the truth of `x is None` or `x is not None` is `when`. Returns false if this is
// another comparison.
bool none_jump_if(Unit& unit, const ast::Compare& test, bool when, Label to) {
  const auto op = static_cast<ast::CmpOperator>(unit.tree.numbers(test.ops)[0]);
  const NodeId other = unit.tree.items(test.comparators)[0];
  const bool is_test = op == ast::CmpOperator::Is || op == ast::CmpOperator::IsNot;
  if (!unit.features.tests_none_by_opcode || !is_test || !unit.tree.is(other, Kind::Constant)) {
    return false;
  }
  const ConstId value = unit.tree.as<ast::Constant>(other).value;
  if (unit.module[value].kind != object::ConstKind::None) return false;
  expression(unit, test.left);
  unit.emit.branch_none(when == (op == ast::CmpOperator::Is), to);
  return true;
}

// Emits code for both ways of a test.
void choose(Unit& unit, NodeId test, const std::function<void()>& body,
            const std::function<void()>& orelse) {
  const Label otherwise = unit.emit.label();
  const Label end = unit.emit.label();
  const Position before = unit.emit.here();
  jump_if(unit, test, false, otherwise);
  body();
  unit.emit.jump(end);
  unit.emit.back_to(before);
  unit.emit.place(otherwise);
  orelse();
  unit.emit.place(end);
}

// Where a tested value leads, on the stack or popped.
struct Way {
  Label to;
  bool keeps;
};

void tested_once(Unit& unit, NodeId node, bool when, Way way) {
  expression(unit, node);
  if (way.keeps) unit.emit.op(Op::Copy, 1);
  unit.emit.branch(when, way.to);
  if (way.keeps) unit.emit.op(Op::Pop);
}

// Pops a value that its operation tests, unless its truth is `when`: then it takes the way. Up to
// 3.11 what has decided an operation is not tested by the operation around it once more.
void tested(Unit& unit, NodeId node, bool when, Way way);

// Does the same for an operand, which the text may keep apart.
void operand(Unit& unit, const ast::BoolOp& around, NodeId node, bool when, Way way) {
  const bool is_apart = unit.features.threads_on_lines && ast::is_apart(unit.tree, around, node);
  is_apart ? tested_once(unit, node, when, way) : tested(unit, node, when, way);
}

// Evaluates all operands but the last one, which take the way if their truth is `when`.
void first_operands(Unit& unit, const ast::BoolOp& node, bool when, Way way) {
  const auto values = unit.tree.items(node.values);
  for (const NodeId value : values.first(values.size() - 1)) operand(unit, node, value, when, way);
}

void tested(Unit& unit, NodeId node, bool when, Way way) {
  const Kind kind = unit.features.threads_tests ? unit.tree.kind(node) : Kind::Constant;
  if (kind == Kind::BoolOp) {
    if (++unit.nesting > kDeepest) give_up("expressions are nested too deep");
    const auto operation = unit.tree.as<ast::BoolOp>(node);
    const bool stops_at = operation.op == static_cast<uint32_t>(ast::BoolOperator::Or);
    const Label next = unit.emit.label();
    first_operands(unit, operation, stops_at, stops_at == when ? way : Way{next, false});
    operand(unit, operation, unit.tree.items(operation.values).back(), when, way);
    unit.emit.place(next);
    --unit.nesting;
  } else if (kind == Kind::IfExp) {
    const auto choice = unit.tree.as<ast::IfExp>(node);
    // The jump at the end of the first arm has no line.
    const auto body = unit.features.threads_on_lines ? tested_once : tested;
    choose(
        unit, choice.test, [&] { body(unit, choice.body, when, way); },
        [&] { tested(unit, choice.orelse, when, way); });
  } else {
    tested_once(unit, node, when, way);
  }
}

}  // namespace

void boolean(Unit& unit, const ast::BoolOp& node) {
  const bool stops_at = node.op == static_cast<uint32_t>(ast::BoolOperator::Or);
  const Label end = unit.emit.label();
  first_operands(unit, node, stops_at, {end, true});
  expression(unit, unit.tree.items(node.values).back());
  unit.emit.place(end);
}

void conditional(Unit& unit, const ast::IfExp& node) {
  choose(
      unit, node.test, [&] { expression(unit, node.body); },
      [&] { expression(unit, node.orelse); });
}

void comparison(Unit& unit, const ast::Compare& chain) {
  const auto ops = unit.tree.numbers(chain.ops);
  const auto others = unit.tree.items(chain.comparators);
  expression(unit, chain.left);
  if (ops.size() == 1) {
    last_operand(unit, chain);
    return compare(unit, ops[0]);
  }
  const Label cleanup = unit.emit.label();
  const Label end = unit.emit.label();
  for (size_t i = 0; i + 1 < ops.size(); ++i) {
    expression(unit, others[i]);
    keep_operand(unit);
    compare(unit, ops[i]);
    unit.emit.op(Op::Copy, 1);
    unit.emit.branch(false, cleanup);
    unit.emit.op(Op::Pop);
  }
  last_operand(unit, chain);
  compare(unit, ops.back());
  unit.emit.jump(end);
  unit.emit.place(cleanup);
  unit.emit.op(Op::Swap, 2);
  unit.emit.op(Op::Pop);
  unit.emit.place(end);
}

void jump_if(Unit& unit, NodeId test, bool when, Label to) {
  if (++unit.nesting > kDeepest) give_up("expressions are nested too deep");
  switch (unit.tree.kind(test)) {
    case Kind::UnaryOp: {
      const auto operation = unit.tree.as<ast::UnaryOp>(test);
      if (operation.op != static_cast<uint32_t>(ast::UnaryOperator::Not)) break;
      jump_if(unit, operation.operand, !when, to);
      --unit.nesting;
      return;
    }
    case Kind::BoolOp: {
      const auto operation = unit.tree.as<ast::BoolOp>(test);
      const bool stops_at = operation.op == static_cast<uint32_t>(ast::BoolOperator::Or);
      const Label past = stops_at == when ? to : unit.emit.label();
      const auto values = unit.tree.items(operation.values);
      for (size_t i = 0; i + 1 < values.size(); ++i) jump_if(unit, values[i], stops_at, past);
      jump_if(unit, values.back(), when, to);
      if (past != to) unit.emit.place(past);
      --unit.nesting;
      return;
    }
    case Kind::IfExp: {
      const auto choice = unit.tree.as<ast::IfExp>(test);
      const Label otherwise = unit.emit.label();
      const Label end = unit.emit.label();
      jump_if(unit, choice.test, false, otherwise);
      jump_if(unit, choice.body, when, to);
      unit.emit.jump(end);
      unit.emit.place(otherwise);
      jump_if(unit, choice.orelse, when, to);
      unit.emit.place(end);
      --unit.nesting;
      return;
    }
    case Kind::Compare:
      if (unit.tree.numbers(unit.tree.as<ast::Compare>(test).ops).size() == 1) {
        if (!none_jump_if(unit, unit.tree.as<ast::Compare>(test), when, to)) break;
      } else {
        chain_jump_if(unit, unit.tree.as<ast::Compare>(test), when, to);
      }
      --unit.nesting;
      return;
    default:  // NOLINT: any other value is tested for truth
      break;
  }
  expression(unit, test);
  unit.emit.branch(when, to);
  --unit.nesting;
}

}  // namespace pellucid::verify::lower
