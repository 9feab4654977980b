// SPDX-License-Identifier: Apache-2.0
// Calls: positional, named, starred and double-starred arguments.
//
// CALL and CALL_KW state their arguments. CALL_FUNCTION_EX takes a tuple and a dict; an element of
// either is written as an argument if the same compiler builds the same tuple and dict from that
// text.
#include "ast/nodes.h"
#include "structure/expressions/expressions.h"
#include "structure/expressions/operations.h"

namespace pellucid::structure {

using ast::NodeId;
using bytecode::Op;
using object::Const;
using object::ConstKind;

namespace {

// From 3.10 on, a call with more operands than this takes a tuple and a dict (STACK_USE_GUIDELINE).
constexpr size_t kManyOperands = 30;

NodeId double_starred(ast::Tree& tree, NodeId node) {
  return tree.add(ast::keyword{Symbol(), node}, tree.where(node));
}

// Returns the keyword arguments for a dict display: `k=v` for each pair whose key can be a name,
// `**{k: v}` for the other pairs, `**m` for each mapping.
std::vector<NodeId> keywords_of(ast::Tree& tree, NodeId dict) {
  const auto node = tree.as<ast::Dict>(dict);
  std::vector<NodeId> keywords;
  const size_t count = tree.items(node.keys).size();
  for (size_t i = 0; i < count; ++i) {
    const NodeId key = tree.items(node.keys)[i];
    const NodeId value = tree.items(node.values)[i];
    if (!key.valid()) {
      keywords.push_back(double_starred(tree, value));
      continue;
    }
    const Const* name = constant_of(tree, key);
    if (name && name->kind == ConstKind::Str && is_identifier(tree.text(name->text))) {
      keywords.push_back(tree.add(ast::keyword{name->text, value}, tree.where(value)));
      continue;
    }
    const NodeId pair =
        tree.add(ast::Dict{tree.list({key}), tree.list({value})}, tree.where(value));
    keywords.push_back(double_starred(tree, pair));
  }
  return keywords;
}

bool is_one_of_the_dicts_a_call_builds(Op op) {
  return op == Op::BuildMap || op == Op::BuildConstKeyMap || op == Op::MapAdd ||
         op == Op::DictMerge || op == Op::BuildMapUnpackWithCall;
}

std::vector<NodeId> elements_of(ast::Tree& tree, NodeId node) {
  std::vector<NodeId> elements;
  if (const Const* constant = constant_of(tree, node)) {
    for (const auto item : std::vector<object::ConstId>(constant->items)) {
      elements.push_back(tree.add(ast::Constant{item}, tree.where(node)));
    }
  } else {
    const auto items = tree.items(tree.as<ast::Tuple>(node).elts);
    elements.assign(items.begin(), items.end());
  }
  return elements;
}

NodeId call_of(ExpressionContext& c, const ir::Value& value, NodeId callee, Nodes args,
               Nodes keywords) {
  if (is_op(c.operand(value, 0), Op::LoadBuildClass)) {
    const NodeId literal = class_literal(c, c.where(value), args, keywords);
    if (literal.valid()) return literal;
  }
  if (c.tree.is(callee, ast::Kind::FunctionDef) && keywords.empty()) {
    const NodeId made = make_hidden_call(c, value, callee, args);
    if (made.valid()) return made;
  }
  return c.tree.add(ast::Call{callee, list_of(c.tree, args), list_of(c.tree, keywords)},
                    c.where(value));
}

}  // namespace

NodeId make_call(ExpressionContext& c, const ir::Value& value, Nodes operands) {
  if (value.op == Op::Call) return call_of(c, value, operands[0], operands.subspan(1), {});
  const Const* names = constant_of(c.tree, operands.back());
  if (!names || names->kind != ConstKind::Tuple) return NodeId();
  const std::vector<object::ConstId> ids = names->items;
  const Nodes args = operands.subspan(1, operands.size() - 2);
  if (ids.size() > args.size()) return NodeId();
  const size_t first = args.size() - ids.size();
  std::vector<NodeId> keywords;
  for (size_t i = 0; i < ids.size(); ++i) {
    const Const& name = c.module()[ids[i]];
    if (name.kind != ConstKind::Str) return NodeId();
    const NodeId arg = args[first + i];
    keywords.push_back(c.tree.add(ast::keyword{name.text, arg}, c.tree.where(arg)));
  }
  return call_of(c, value, operands[0], args.first(first), keywords);
}

NodeId make_call_ex(ExpressionContext& c, const ir::Value& value, Nodes operands) {
  const NodeId tuple = operands[1];
  const bool has_keywords = operands.size() > 2;
  std::vector<NodeId> args;
  const ir::Value& made = c.operand(value, 1);
  const Const* constant = constant_of(c.tree, tuple);
  const bool is_display = c.tree.is(tuple, ast::Kind::Tuple) &&
                          (is_op(made, Op::ListToTuple, Op::BuildTupleUnpackWithCall) ||
                           (has_keywords && is_op(made, Op::BuildTuple)));
  // Compilers without Folds::arguments build the empty tuple of a call that has no positional
  // arguments, so there an empty constant was written as `*()`.
  const bool is_empty_star = constant && constant->items.empty() && !c.function.folds.arguments;
  const bool is_constant =
      has_keywords && constant && constant->kind == ConstKind::Tuple && !is_empty_star;
  const bool is_spliced = is_display || is_constant;
  args = is_spliced ? elements_of(c.tree, tuple) : std::vector<NodeId>{starred(c.tree, tuple)};

  std::vector<NodeId> keywords;
  if (has_keywords) {
    const NodeId dict = operands[2];
    const ir::Value& kwargs = c.operand(value, 2);
    const bool is_written =
        kwargs.kind == ir::ValueKind::Instr && is_one_of_the_dicts_a_call_builds(kwargs.op) &&
        c.tree.is(dict, ast::Kind::Dict) && !c.tree.items(c.tree.as<ast::Dict>(dict).keys).empty();
    keywords =
        is_written ? keywords_of(c.tree, dict) : std::vector<NodeId>{double_starred(c.tree, dict)};
    // Without a star, 3.8 emits CALL_FUNCTION_EX for `**{...}` only; later versions also when there
    // are too many arguments for the stack.
    bool has_star = false;
    bool has_double_star = false;
    for (const NodeId arg : args) has_star |= c.tree.is(arg, ast::Kind::Starred);
    for (const NodeId word : keywords) {
      has_double_star |= !c.tree.as<ast::keyword>(word).arg.valid();
    }
    // A dict built by one instruction was written as one display, unless all its keys can be names.
    const bool is_made_at_once = is_op(kwargs, Op::BuildMap, Op::BuildConstKeyMap);
    const bool is_one = is_made_at_once && has_double_star;
    has_star |= has_double_star;
    if (is_one || (!has_star && args.size() + 2 * keywords.size() <= kManyOperands)) {
      keywords = {double_starred(c.tree, dict)};
    }
  }
  return call_of(c, value, operands[0], args, keywords);
}

}  // namespace pellucid::structure
