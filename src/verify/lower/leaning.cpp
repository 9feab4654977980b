// SPDX-License-Identifier: Apache-2.0
// Left-leaning chains of operators, attributes, subscripts and calls: `a.b(c)[d] + e`.
//
// Such a chain may be of any length, so it is lowered without recursion: down to the operand that
// is evaluated first, then up again applying the operations.
#include "verify/lower/compiler.h"

namespace pellucid::verify::lower {

void Compiler::leaning(NodeId node) {
  std::vector<Applied> rest;
  while (node.valid()) node = first_part(node, rest);
  while (!rest.empty()) {
    const Applied next = rest.back();
    rest.pop_back();
    apply(next);
  }
}

// Appends the operation of `node` to `rest` and returns its first operand; absent if the value is
// on the stack.
NodeId Compiler::first_part(NodeId node, std::vector<Applied>& rest) {
  switch (tree_.kind(node)) {
    case Kind::BinOp: {
      const auto operation = tree_.as<ast::BinOp>(node);
      if (percent_format(operation)) return {};
      rest.push_back({node, Applied::kNode});
      return operation.left;
    }
    case Kind::Attribute: {
      const auto attribute = tree_.as<ast::Attribute>(node);
      if (super_attribute(attribute.value, attribute.attr, Op::LoadAttr)) return {};
      rest.push_back({node, Applied::kNode});
      return attribute.value;
    }
    case Kind::Subscript:
      rest.push_back({node, Applied::kNode});
      return tree_.as<ast::Subscript>(node).value;
    case Kind::Call: {
      const auto call = tree_.as<ast::Call>(node);
      if (!is_method_call(call)) {
        rest.push_back({node, Applied::kNode});
        return call.func;
      }
      rest.push_back({node, Applied::kMethodCall});
      const auto method = tree_.as<ast::Attribute>(call.func);
      if (super_attribute(method.value, method.attr, Op::LoadMethod)) return {};
      rest.push_back({call.func, Applied::kMethod});
      return method.value;
    }
    default:  // NOLINT: not part of a chain
      expression(node);
      return {};
  }
}

// Applies an operation to the first operand, which is on the stack.
void Compiler::apply(const Applied& next) {
  if (next.how == Applied::kMethod) {
    const auto method = tree_.as<ast::Attribute>(next.node);
    return emit().op(Op::LoadMethod, mangled(method.attr).value);
  }
  if (tree_.is(next.node, Kind::BinOp)) {
    const auto operation = tree_.as<ast::BinOp>(next.node);
    expression(operation.right);
    return emit().op(Op::Binary, operation.op);
  }
  if (tree_.is(next.node, Kind::Attribute)) {
    const auto attribute = tree_.as<ast::Attribute>(next.node);
    return emit().op(Op::LoadAttr, mangled(attribute.attr).value);
  }
  if (tree_.is(next.node, Kind::Subscript)) {
    expression(tree_.as<ast::Subscript>(next.node).slice);
    return emit().op(Op::Subscr);
  }
  const auto call = tree_.as<ast::Call>(next.node);
  const auto args = tree_.items(call.args);
  const auto keywords = tree_.items(call.keywords);
  if (next.how == Applied::kMethodCall) return plain_arguments(args, keywords, {}, 0, 2);
  arguments(args, keywords);
}

}  // namespace pellucid::verify::lower
