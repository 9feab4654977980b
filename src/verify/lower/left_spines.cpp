// SPDX-License-Identifier: Apache-2.0
#include "verify/lower/left_spines.h"

#include <vector>

#include "verify/lower/calls.h"
#include "verify/lower/computed.h"
#include "verify/lower/expressions.h"
#include "verify/lower/strings.h"

namespace pellucid::verify::lower {

namespace {

// Appends the operation of `node` to its spine and returns its first operand; absent if the value
// is on the stack.
NodeId first_part(Unit& unit, NodeId node) {
  std::vector<Applied>& rest = unit.spines;
  switch (unit.tree.kind(node)) {
    case Kind::BinOp: {
      const auto operation = unit.tree.as<ast::BinOp>(node);
      if (percent_format(unit, operation)) return {};
      rest.push_back({node, Applied::kNode});
      return operation.left;
    }
    case Kind::Attribute: {
      const auto attribute = unit.tree.as<ast::Attribute>(node);
      if (super_attribute(unit, attribute.value, attribute.attr, Op::LoadAttr)) return {};
      rest.push_back({node, Applied::kNode});
      return attribute.value;
    }
    case Kind::Subscript:
      rest.push_back({node, Applied::kNode});
      return unit.tree.as<ast::Subscript>(node).value;
    case Kind::Call: {
      const auto call = unit.tree.as<ast::Call>(node);
      if (!is_method_call(unit, call)) {
        rest.push_back({node, Applied::kNode});
        null_before_callee(unit);
        return call.func;
      }
      rest.push_back({node, Applied::kMethodCall});
      const auto method = unit.tree.as<ast::Attribute>(call.func);
      if (super_attribute(unit, method.value, method.attr, Op::LoadMethod)) return {};
      rest.push_back({call.func, Applied::kMethod});
      return method.value;
    }
    default:  // NOLINT: not part of a chain
      expression(unit, node);
      return {};
  }
}

// Applies an operation to the first operand, which is on the stack.
void apply(Unit& unit, const Applied& next) {
  if (next.how == Applied::kMethod) {
    const auto method = unit.tree.as<ast::Attribute>(next.node);
    return unit.emit.op(Op::LoadMethod, unit.mangled(method.attr).value);
  }
  if (unit.tree.is(next.node, Kind::BinOp)) {
    const auto operation = unit.tree.as<ast::BinOp>(next.node);
    expression(unit, operation.right);
    return binary(unit, operation);
  }
  if (unit.tree.is(next.node, Kind::Attribute)) {
    const auto attribute = unit.tree.as<ast::Attribute>(next.node);
    return unit.emit.op(Op::LoadAttr, unit.mangled(attribute.attr).value);
  }
  if (unit.tree.is(next.node, Kind::Subscript)) {
    const auto node = unit.tree.as<ast::Subscript>(next.node);
    expression(unit, node.slice);
    return subscript(unit, node);
  }
  const auto call = unit.tree.as<ast::Call>(next.node);
  if (next.how == Applied::kMethodCall) return call_method(unit, call);
  null_after_callee(unit);
  call_with(unit, unit.tree.items(call.args), unit.tree.items(call.keywords));
}

}  // namespace

void left_spine(Unit& unit, NodeId node) {
  // The spines of the operands lie above this one.
  std::vector<Applied>& rest = unit.spines;
  const size_t before = rest.size();
  while (node.valid()) node = first_part(unit, node);
  while (rest.size() > before) {
    const Applied next = rest.back();
    rest.pop_back();
    apply(unit, next);
  }
}

}  // namespace pellucid::verify::lower
