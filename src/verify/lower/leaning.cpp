// SPDX-License-Identifier: Apache-2.0
// What leans to the left: operators, attributes, subscripts and calls in a row, `a.b(c)[d] + e`.
//
// Such a row may be as long as the program likes, so it is taken in turn: down to the value that
// is evaluated first, and up again with what is done to it.
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

// Leaves what is done to the first part of `node` in `rest`, and returns that part; absent: its
// value is on the stack.
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
    default:  // NOLINT: anything else is no row
      expression(node);
      return {};
  }
}

// With the value of the first part on the stack.
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
