// SPDX-License-Identifier: Apache-2.0
#include "structure/expressions/expressions.h"
#include "structure/expressions/operations.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "ast/nodes.h"
#include "structure/scopes/dead_code.h"
#include "structure/scopes/unfoldable.h"

namespace pellucid::structure {

using ast::NodeId;
using bytecode::Op;
using object::Const;
using object::ConstKind;

namespace {

// LOAD_COMMON_CONSTANT of 3.14.
constexpr std::array<std::string_view, 5> kCommonConstants = {
    "AssertionError", "NotImplementedError", "tuple", "all", "any"};

NodeId compare(ast::Tree& tree, NodeId left, ast::CmpOperator op, NodeId right, ast::Where where) {
  const std::array<uint32_t, 1> ops = {static_cast<uint32_t>(op)};
  return tree.add(ast::Compare{left, tree.numbers(ops), tree.list({right})}, where);
}

// Returns an expression for a cell, which has none in Python: the closure of a lambda that uses the
// variable holds it.
NodeId cell(ast::Tree& tree, Symbol name, ast::Where where) {
  const NodeId lambda = tree.add(ast::Lambda{NodeId(), tree.add(ast::Name{name}, where)}, where);
  const NodeId closure = tree.add(ast::Attribute{lambda, tree.intern("__closure__")}, where);
  Const zero;
  zero.kind = ConstKind::Int;
  const NodeId index = tree.add(ast::Constant{tree.module().add(zero)}, where);
  return tree.add(ast::Subscript{closure, index}, where);
}

}  // namespace

namespace {

// Restores a slice that was built at run time although its bounds are literals, which compilers
// with Folds::slices make one constant of: one bound was computed, as `+1` is.
void keep_built(ast::Tree& tree, ast::Slice& slice, ast::Where where) {
  NodeId* computed = nullptr;
  for (NodeId* bound : {&slice.lower, &slice.upper, &slice.step}) {
    if (!bound->valid()) continue;
    const Const* constant = constant_of(tree, *bound);
    if (!constant || !ast::is_one_literal(tree.module(), *constant)) return;
    const bool is_number = constant->kind == ConstKind::Int ||
                           constant->kind == ConstKind::BigInt ||
                           constant->kind == ConstKind::Float;
    if (is_number) computed = bound;
  }
  if (!computed) return;
  *computed =
      tree.add(ast::UnaryOp{static_cast<uint32_t>(ast::UnaryOperator::UAdd), *computed}, where);
}

// BUILD_SLICE 3 has a step even if that is None; an absent bound is an unwritten None.
NodeId slice(ast::Tree& tree, std::span<const NodeId> parts, ast::Where where, bool is_folded) {
  const auto bound = [&](NodeId part) { return is_none(tree, part) ? NodeId() : part; };
  ast::Slice node{bound(parts[0]), bound(parts[1]), parts.size() > 2 ? parts[2] : NodeId()};
  if (is_folded) keep_built(tree, node, where);
  return tree.add(node, where);
}

// Returns true if compilers would make a formatted string of `left % (count values)`. They did not,
// so `left` was written as an f-string without fields.
bool would_be_formatted(const ast::Tree& tree, NodeId left, size_t count) {
  const Const* format = constant_of(tree, left);
  if (!format || format->kind != ConstKind::Str) return false;
  const std::string_view text = tree.text(format->text);
  size_t values = 0;
  for (size_t at = text.find('%'); at != text.npos; at = text.find('%', at)) {
    ++at;
    if (at < text.size() && text[at] == '%') {
      ++at;
      continue;
    }
    at = std::min(text.find_first_not_of("-0123456789.", at), text.size());
    if (at == text.size() || (text[at] != 's' && text[at] != 'r' && text[at] != 'a')) return false;
    ++values;
  }
  return values == count;
}

// Returns true if compilers would fold an operation on strings into a constant; an operation that
// was not folded had an f-string as an operand.
bool would_be_folded(const ast::Tree& tree, NodeId left, uint32_t op, NodeId right) {
  constexpr size_t kLongest = 4096;  // CPython's MAX_STR_SIZE
  const Const *first = constant_of(tree, left), *second = constant_of(tree, right);
  const bool are_texts = first->kind == ConstKind::Str && second->kind == ConstKind::Str;
  if (op == static_cast<uint32_t>(ast::Operator::Add)) return are_texts;
  if (op != static_cast<uint32_t>(ast::Operator::Mult) || are_texts) return false;
  if (first->kind != ConstKind::Str) std::swap(first, second);
  if (first->kind != ConstKind::Str || second->kind != ConstKind::Int) return false;
  const int64_t times = second->integer;
  const size_t size = std::max<size_t>(tree.text(first->text).size(), 1);
  return times >= 0 && static_cast<uint64_t>(times) <= kLongest / size;
}

bool is_number(const Const& constant) {
  return constant.kind == ConstKind::Int || constant.kind == ConstKind::True ||
         constant.kind == ConstKind::False || constant.kind == ConstKind::Float;
}

// Returns true if compilers would fold an operation on two numbers. Only certain cases count:
// results that are too long or that raise are not folded.
bool numbers_would_be_folded(const ast::Tree& tree, NodeId left, uint32_t op, NodeId right) {
  const Const *first = constant_of(tree, left), *second = constant_of(tree, right);
  if (!is_number(*first) || !is_number(*second)) return false;
  const bool has_float = first->kind == ConstKind::Float || second->kind == ConstKind::Float;
  switch (static_cast<ast::Operator>(op)) {
    case ast::Operator::Add:
    case ast::Operator::Sub:
    case ast::Operator::Mult:
      return true;
    case ast::Operator::BitOr:
    case ast::Operator::BitXor:
    case ast::Operator::BitAnd:
      return !has_float;
    case ast::Operator::Div:
    case ast::Operator::FloorDiv:
    case ast::Operator::Mod:
      return object::is_true(tree.module(), *second);
    case ast::Operator::LShift:
    case ast::Operator::RShift:
      return !has_float && second->integer >= 0 && second->integer < 64;
    case ast::Operator::Pow:
      return !has_float && second->integer >= 0 && second->integer <= 2;
    case ast::Operator::MatMult:
      return false;
  }
  return false;
}

// Returns true if compilers would fold a unary operation on this constant.
bool would_be_folded(const ast::Tree& tree, uint32_t op, NodeId operand) {
  switch (constant_of(tree, operand)->kind) {
    case ConstKind::True:
    case ConstKind::False:
    case ConstKind::Int:
    case ConstKind::BigInt:
      return true;
    case ConstKind::Float:
    case ConstKind::Complex:
      return op != static_cast<uint32_t>(ast::UnaryOperator::Invert);
    default:
      return op == static_cast<uint32_t>(ast::UnaryOperator::Not);
  }
}

// Returns true if a call's callee is a coroutine function made for that call.
bool calls_coroutine(const ExpressionContext& c, const ir::Value& call) {
  const ir::Value* function = &c.operand(call, 0);
  if (is_op(*function, Op::SetFunctionAttribute)) function = &c.operand(*function, 1);
  if (!is_op(*function, Op::MakeFunction)) return false;
  for (size_t i = 0; i < function->count; ++i) {
    const ir::Value& part = c.operand(*function, i);
    if (!is_op(part, Op::LoadConst)) continue;
    const Const& constant = c.module()[part.constant()];
    if (constant.kind != ConstKind::Code) continue;
    return (c.module()[constant.code].flags & object::kCoroutine) != 0;
  }
  return false;
}

// Makes loads, attributes and items, operators, iteration and generators.
NodeId operation(const ExpressionContext& c, const ir::Value& value, Nodes operands) {
  const ast::Where at = c.where(value);
  switch (value.op) {
    case Op::LoadConst:
      return c.tree.add(ast::Constant{value.constant()}, at);
    case Op::LoadFast:
    case Op::LoadName:
    case Op::LoadGlobal:
    case Op::LoadDeref:
    case Op::LoadClassDeref:
    case Op::LoadFromDictOrDeref:
    case Op::LoadFromDictOrGlobals:
      return c.tree.add(ast::Name{value.symbol()}, at);
    case Op::LoadClosure:
      return cell(c.tree, value.symbol(), at);
    case Op::LoadLocals:
      return c.tree.add(ast::Call{name_node(c.tree, "locals", at), {}, {}}, at);
    case Op::LoadBuildClass:
      return name_node(c.tree, "__build_class__", at);
    case Op::LoadAssertionError:
      return name_node(c.tree, "AssertionError", at);
    case Op::LoadCommonConstant:
      if (value.a >= kCommonConstants.size()) return NodeId();
      return name_node(c.tree, kCommonConstants[value.a], at);
    case Op::LoadAttr:
    case Op::LoadMethod:
      return c.tree.add(ast::Attribute{operands[0], value.symbol()}, at);
    case Op::LoadSuper: {
      const ast::ListId args = value.a == 1 ? c.tree.list(operands.subspan(1)) : ast::ListId();
      return c.tree.add(ast::Call{operands[0], args, {}}, at);
    }
    case Op::Subscr:
      return c.tree.add(ast::Subscript{operands[0], operands[1]}, at);
    case Op::BuildSlice:
      // A proof of generated code does not distinguish a slice that is built from a constant one.
      return slice(c.tree, operands, at, c.function.folds.slices && !c.function.is_generated);
    case Op::Unary: {
      const bool is_not = value.a == static_cast<uint32_t>(ast::UnaryOperator::Not);
      // The constant may stand for a test that was folded.
      NodeId whole =
          is_not && c.function.folds.operations ? constant_truth(c.tree, operands[0]) : operands[0];
      // Without Folds::walruses the compiler does not fold inside a walrus.
      const bool is_plain = c.function.folds.walruses && !c.function.is_generated &&
                            is_plain_constant(c.tree, c.operand(value, 0), whole) &&
                            (!is_not || !c.function.folds.literals || is_atom(c.tree, whole));
      if (is_plain && would_be_folded(c.tree, value.a, whole)) {
        whole = c.function.folds.operations ? tested_operand(c.tree, whole)
                                            : computed(c.tree, whole, at);
      }
      return c.tree.add(ast::UnaryOp{value.a, whole}, at);
    }
    case Op::Binary: {
      NodeId left = operands[0];
      const bool is_mod = value.a == static_cast<uint32_t>(ast::Operator::Mod);
      if (is_mod && c.function.folds.formats && is_op(c.operand(value, 1), Op::BuildTuple) &&
          would_be_formatted(c.tree, left, c.operand(value, 1).a)) {
        left = c.tree.add(ast::JoinedStr{c.tree.list({left})}, at);
      }
      NodeId right = operands[1];
      const bool are_plain = is_plain_constant(c.tree, c.operand(value, 0), left) &&
                             is_plain_constant(c.tree, c.operand(value, 1), right);
      if (are_plain && would_be_folded(c.tree, left, value.a, right)) {
        NodeId& text = constant_of(c.tree, left)->kind == ConstKind::Str ? left : right;
        text = computed(c.tree, text, at);
      } else if (are_plain && c.function.folds.walruses && !c.function.is_generated &&
                 numbers_would_be_folded(c.tree, left, value.a, right)) {
        left =
            c.function.folds.operations ? tested_operand(c.tree, left) : computed(c.tree, left, at);
      }
      return c.tree.add(ast::BinOp{left, value.a, right}, at);
    }
    case Op::Compare:
      return compare(c.tree, operands[0], static_cast<ast::CmpOperator>(value.a), operands[1], at);
    case Op::IsOp:
      return compare(c.tree, operands[0], value.a ? ast::CmpOperator::IsNot : ast::CmpOperator::Is,
                     operands[1], at);
    case Op::ContainsOp:
      return compare(c.tree, operands[0], value.a ? ast::CmpOperator::NotIn : ast::CmpOperator::In,
                     as_iterable(c.tree, operands[1]), at);
    case Op::ToBool: {
      // 3.14 compiles `not not x` to TO_BOOL.
      const uint32_t op_not = static_cast<uint32_t>(ast::UnaryOperator::Not);
      return c.tree.add(ast::UnaryOp{op_not, c.tree.add(ast::UnaryOp{op_not, operands[0]}, at)},
                        at);
    }
    case Op::GetIter:
      return c.tree.add(ast::Call{name_node(c.tree, "iter", at), c.tree.list(operands), {}}, at);
    case Op::GetAwaitable:
      // The call of a comprehension that awaits is awaited implicitly.
      if (is_op(c.operand(value, 0), Op::Call) && calls_coroutine(c, c.operand(value, 0))) {
        const ast::Kind kind = c.tree.kind(operands[0]);
        if (kind == ast::Kind::ListComp || kind == ast::Kind::SetComp ||
            kind == ast::Kind::DictComp) {
          return operands[0];
        }
      }
      return c.tree.add(ast::Await{operands[0]}, at);
    case Op::GetYieldFromIter:
      return c.tree.add(ast::YieldFrom{operands[0]}, at);
    case Op::GetAiter:
      return operands[0];
    case Op::YieldFrom: {
      const ir::Value& iterator = c.operand(value, 0);
      if (is_op(iterator, Op::GetAwaitable, Op::GetYieldFromIter)) {
        return operands[0];
      }
      return c.tree.add(ast::YieldFrom{operands[0]}, at);
    }
    case Op::YieldValue:
      return c.tree.add(ast::Yield{is_none(c.tree, operands[0]) ? NodeId() : operands[0]}, at);
    default:
      return NodeId();
  }
}

}  // namespace

NodeId Expressions::make(const ir::Value& value, Nodes operands) {
  if (value.kind != ir::ValueKind::Instr) return NodeId();
  for (NodeId operand : operands) {
    if (!operand.valid()) return NodeId();
  }
  switch (value.op) {
    case Op::Call:
    case Op::CallKw:
      return make_call(context_, value, operands);
    case Op::CallEx:
      return make_call_ex(context_, value, operands);
    case Op::BuildTuple:
    case Op::BuildList:
    case Op::BuildSet:
    case Op::BuildMap:
    case Op::BuildConstKeyMap:
      return make_display(context_, value, operands);
    case Op::ListAppend:
    case Op::SetAdd:
    case Op::MapAdd:
    case Op::ListExtend:
    case Op::SetUpdate:
    case Op::DictUpdate:
    case Op::DictMerge:
    case Op::ListToTuple:
      return make_extended(context_, value, operands);
    case Op::BuildTupleUnpack:
    case Op::BuildTupleUnpackWithCall:
    case Op::BuildListUnpack:
    case Op::BuildSetUnpack:
    case Op::BuildMapUnpack:
    case Op::BuildMapUnpackWithCall:
      return make_unpacked(context_, value, operands);
    case Op::BuildString:
    case Op::Convert:
    case Op::Format:
    case Op::BuildInterpolation:
    case Op::BuildTemplate:
      return make_string(context_, value, operands);
    case Op::MakeFunction:
      have_function_ = true;
      return make_function(context_, value, operands);
    case Op::SetFunctionAttribute:
      return add_function_attribute(context_, value, operands);
    case Op::Intrinsic1:
    case Op::Intrinsic2:
      return make_intrinsic(context_, value, operands);
    default:
      return operation(context_, value, operands);
  }
}

NodeId as_iterable(ast::Tree& tree, NodeId node) {
  const Const* constant = constant_of(tree, node);
  if (!constant || constant->kind != ConstKind::FrozenSet || constant->items.empty()) return node;
  const ast::Where at = tree.where(node);
  std::vector<NodeId> elts;
  for (object::ConstId item : std::vector<object::ConstId>(constant->items)) {
    elts.push_back(tree.add(ast::Constant{item}, at));
  }
  tree.set(node, ast::Set{tree.list(elts)});
  return node;
}

}  // namespace pellucid::structure
