// SPDX-License-Identifier: Apache-2.0
// Expressions, except those with separate files.
#include <cmath>

#include "base/check.h"
#include "verify/lower/compiler.h"

namespace pellucid::verify::lower {

namespace {

// About the limit of CPython's compiler.
constexpr uint32_t kDeepest = 1500;

}  // namespace

void Compiler::expression(NodeId node) {
  if (++nesting_ > kDeepest) give_up("expressions are nested too deep");
  expression_in(node);
  --nesting_;
}

void Compiler::constant(ConstId value) {
  const object::ConstKind kind = out_.module[value].kind;
  // The text has a name in its place, which is unbound.
  if (kind == object::ConstKind::Code || kind == object::ConstKind::Opaque) {
    give_up("a constant without a literal");
  }
  load(value);
}

void Compiler::expression_in(NodeId node) {
  switch (tree_.kind(node)) {
    case Kind::Constant:
      return constant(tree_.as<ast::Constant>(node).value);
    case Kind::Name:
      return name(tree_.as<ast::Name>(node).id, Use::Load);
    case Kind::BoolOp:
      return boolean(tree_.as<ast::BoolOp>(node));
    case Kind::NamedExpr: {
      const auto named = tree_.as<ast::NamedExpr>(node);
      ++walruses_;
      expression(named.value);
      --walruses_;
      emit().op(Op::Copy, 1);
      return assign(named.target);
    }
    case Kind::BinOp:
    case Kind::Call:
    case Kind::Attribute:
    case Kind::Subscript:
      return leaning(node);
    case Kind::UnaryOp:
      if (const auto constant = constant_of(node)) return load(*constant);
      return unary(tree_.as<ast::UnaryOp>(node));
    case Kind::Lambda:
      return lambda(node);
    case Kind::IfExp:
      return conditional(tree_.as<ast::IfExp>(node));
    case Kind::Dict:
      return dictionary(tree_.as<ast::Dict>(node));
    case Kind::Set:
      return sequence(Display::Set, tree_.items(tree_.as<ast::Set>(node).elts));
    case Kind::List:
      return sequence(Display::List, tree_.items(tree_.as<ast::List>(node).elts));
    case Kind::Tuple:
      if (const auto constant = constant_of(node)) return load(*constant);
      return sequence(Display::Tuple, tree_.items(tree_.as<ast::Tuple>(node).elts));
    case Kind::ListComp:
    case Kind::SetComp:
    case Kind::DictComp:
    case Kind::GeneratorExp:
      return comprehension(node);
    case Kind::Await:
      expression(tree_.as<ast::Await>(node).value);
      return await(0);
    case Kind::Yield:
      return yield(tree_.as<ast::Yield>(node).value);
    case Kind::YieldFrom:
      expression(tree_.as<ast::YieldFrom>(node).value);
      emit().op(Op::GetYieldFromIter);
      load_none();
      return emit().op(Op::YieldFrom);
    case Kind::Compare:
      return comparison(node);
    case Kind::FormattedValue:
      return formatted_value(tree_.as<ast::FormattedValue>(node));
    case Kind::JoinedStr:
      return joined_string(tree_.as<ast::JoinedStr>(node));
    case Kind::TemplateStr:
      return template_string(tree_.as<ast::TemplateStr>(node));
    case Kind::Slice:
      return slice(tree_.as<ast::Slice>(node));
    default:  // NOLINT: no expressions
      give_up(std::string(ast::name_of(tree_.kind(node))) + " not supported");
  }
}

void Compiler::expressions(std::span<const NodeId> nodes) {
  for (NodeId node : nodes) expression(node);
}

void Compiler::expression_or_none(NodeId node) {
  if (node.valid()) {
    expression(node);
  } else {
    load_none();
  }
}

void Compiler::unary(const ast::UnaryOp& node) {
  expression(node.operand);
  emit().op(Op::Unary, node.op);
}

// Returns true if a node is one token; a number with a sign is not.
bool Compiler::is_literal(NodeId node) const {
  if (!tree_.is(node, Kind::Constant)) return false;
  const object::Const& value = out_.module[tree_.as<ast::Constant>(node).value];
  switch (value.kind) {
    case object::ConstKind::Int:
      return value.integer >= 0;
    case object::ConstKind::BigInt:
      return !out_.module.text(value.text).starts_with('-');
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

// Returns the constant of a slice. 3.14 folds slices whose bounds are literals before it folds
// other operations, so not `[:-1]`.
std::optional<ConstId> Compiler::constant_slice(const ast::Slice& node) {
  if (!features_.constant_slices) return std::nullopt;
  object::Const folded;
  folded.kind = object::ConstKind::Slice;
  for (NodeId part : {node.lower, node.upper, node.step}) {
    if (part.valid() && !is_literal(part)) return std::nullopt;
    folded.items.push_back(part.valid() ? tree_.as<ast::Constant>(part).value : none_);
  }
  return out_.module.add(std::move(folded));
}

void Compiler::slice(const ast::Slice& node) {
  if (const auto constant = constant_slice(node)) return load(*constant);
  expression_or_none(node.lower);
  expression_or_none(node.upper);
  if (node.step.valid()) expression(node.step);
  emit().op(Op::BuildSlice, node.step.valid() ? 3 : 2);
}

void Compiler::yield(NodeId value) {
  expression_or_none(value);
  if (scope().is_coroutine) emit().op(Op::Intrinsic1, bytecode::kAsyncGenWrap);
  emit().op(Op::YieldValue);
}

std::optional<ConstId> Compiler::constant_of(NodeId node) {
  if (tree_.is(node, Kind::Constant)) return tree_.as<ast::Constant>(node).value;
  if (tree_.is(node, Kind::Tuple)) {
    std::vector<ConstId> items;
    for (NodeId item : tree_.items(tree_.as<ast::Tuple>(node).elts)) {
      const auto constant = constant_of(item);
      if (!constant) return std::nullopt;
      items.push_back(*constant);
    }
    return tuple_constant(items);
  }
  if (tree_.is(node, Kind::UnaryOp)) {
    const auto operation = tree_.as<ast::UnaryOp>(node);
    if (!folds() || !tree_.is(operation.operand, Kind::Constant)) return std::nullopt;
    object::Const value = out_.module[tree_.as<ast::Constant>(operation.operand).value];
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
    return out_.module.add(std::move(value));
  }
  return std::nullopt;
}

// -- conditions ----------------------------------------------------------------------------------

void Compiler::boolean(const ast::BoolOp& node) {
  const bool stops_at = node.op == static_cast<uint32_t>(ast::BoolOperator::Or);
  const Label end = emit().label();
  const auto values = tree_.items(node.values);
  for (size_t i = 0; i + 1 < values.size(); ++i) {
    expression(values[i]);
    emit().op(Op::Copy, 1);
    emit().branch(stops_at, end);
    emit().op(Op::Pop);
  }
  expression(values.back());
  emit().place(end);
}

void Compiler::conditional(const ast::IfExp& node) {
  const Label otherwise = emit().label();
  const Label end = emit().label();
  const Emitter::Place before = emit().here();
  jump_if(node.test, false, otherwise);
  expression(node.body);
  emit().jump(end);
  emit().back_to(before);
  emit().place(otherwise);
  expression(node.orelse);
  emit().place(end);
}

void Compiler::compare(uint32_t op) {
  switch (static_cast<ast::CmpOperator>(op)) {
    case ast::CmpOperator::Is:
      return emit().op(Op::IsOp, 0);
    case ast::CmpOperator::IsNot:
      return emit().op(Op::IsOp, 1);
    case ast::CmpOperator::In:
      return emit().op(Op::ContainsOp, 0);
    case ast::CmpOperator::NotIn:
      return emit().op(Op::ContainsOp, 1);
    case ast::CmpOperator::Lt:
    case ast::CmpOperator::LtE:
    case ast::CmpOperator::Eq:
    case ast::CmpOperator::NotEq:
    case ast::CmpOperator::Gt:
    case ast::CmpOperator::GtE:
      return emit().op(Op::Compare, op);
  }
}

namespace {

bool is_membership(uint32_t op) {
  return op == static_cast<uint32_t>(ast::CmpOperator::In) ||
         op == static_cast<uint32_t>(ast::CmpOperator::NotIn);
}

}  // namespace

void Compiler::comparison(NodeId node) {
  const auto chain = tree_.as<ast::Compare>(node);
  const auto ops = tree_.numbers(chain.ops);
  const auto others = tree_.items(chain.comparators);
  const auto last = [&] {
    if (is_membership(ops.back())) return iterated(others.back(), true);
    expression(others.back());
  };
  expression(chain.left);
  if (ops.size() == 1) {
    last();
    return compare(ops[0]);
  }
  const Label cleanup = emit().label();
  const Label end = emit().label();
  for (size_t i = 0; i + 1 < ops.size(); ++i) {
    expression(others[i]);
    emit().op(Op::Copy, 1);
    emit().op(Op::Rot, 3);
    compare(ops[i]);
    emit().op(Op::Copy, 1);
    emit().branch(false, cleanup);
    emit().op(Op::Pop);
  }
  last();
  compare(ops.back());
  emit().jump(end);
  emit().place(cleanup);
  emit().op(Op::Swap, 2);
  emit().op(Op::Pop);
  emit().place(end);
}

void Compiler::chain_jump_if(NodeId test, bool when, Label to) {
  const auto chain = tree_.as<ast::Compare>(test);
  const auto ops = tree_.numbers(chain.ops);
  const auto others = tree_.items(chain.comparators);
  const Label cleanup = emit().label();
  const Label end = emit().label();
  expression(chain.left);
  for (size_t i = 0; i + 1 < ops.size(); ++i) {
    expression(others[i]);
    emit().op(Op::Copy, 1);
    emit().op(Op::Rot, 3);
    compare(ops[i]);
    emit().branch(false, cleanup);
  }
  if (is_membership(ops.back())) {
    iterated(others.back(), true);
  } else {
    expression(others.back());
  }
  compare(ops.back());
  emit().branch(when, to);
  emit().jump(end);
  emit().place(cleanup);
  emit().op(Op::Pop);
  if (!when) emit().jump(to);
  emit().place(end);
}

void Compiler::jump_if(NodeId test, bool when, Label to) {
  if (++nesting_ > kDeepest) give_up("expressions are nested too deep");
  switch (tree_.kind(test)) {
    case Kind::UnaryOp: {
      const auto operation = tree_.as<ast::UnaryOp>(test);
      if (operation.op != static_cast<uint32_t>(ast::UnaryOperator::Not)) break;
      jump_if(operation.operand, !when, to);
      --nesting_;
      return;
    }
    case Kind::BoolOp: {
      const auto operation = tree_.as<ast::BoolOp>(test);
      const bool stops_at = operation.op == static_cast<uint32_t>(ast::BoolOperator::Or);
      const Label past = stops_at == when ? to : emit().label();
      const auto values = tree_.items(operation.values);
      for (size_t i = 0; i + 1 < values.size(); ++i) jump_if(values[i], stops_at, past);
      jump_if(values.back(), when, to);
      if (past != to) emit().place(past);
      --nesting_;
      return;
    }
    case Kind::IfExp: {
      const auto choice = tree_.as<ast::IfExp>(test);
      const Label otherwise = emit().label();
      const Label end = emit().label();
      jump_if(choice.test, false, otherwise);
      jump_if(choice.body, when, to);
      emit().jump(end);
      emit().place(otherwise);
      jump_if(choice.orelse, when, to);
      emit().place(end);
      --nesting_;
      return;
    }
    case Kind::Compare:
      if (tree_.numbers(tree_.as<ast::Compare>(test).ops).size() == 1) break;
      chain_jump_if(test, when, to);
      --nesting_;
      return;
    default:  // NOLINT: any other value is tested for truth
      break;
  }
  expression(test);
  emit().branch(when, to);
  --nesting_;
}

}  // namespace pellucid::verify::lower
