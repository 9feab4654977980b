// SPDX-License-Identifier: Apache-2.0
#include "fallback/code_maker.h"

#include <algorithm>

namespace pellucid::fallback {

using ast::NodeId;
using object::Const;
using object::ConstKind;

namespace {

NodeId constant(ast::Tree& tree, Const value, ast::Where at) {
  return tree.add(ast::Constant{tree.module().add(std::move(value))}, at);
}

}  // namespace

NodeId CodeMaker::none() { return constant(tree_, {}, at); }

NodeId CodeMaker::truth(bool value) {
  Const made;
  made.kind = value ? ConstKind::True : ConstKind::False;
  return constant(tree_, made, at);
}

NodeId CodeMaker::integer(int64_t value) {
  Const made;
  made.kind = ConstKind::Int;
  made.integer = value;
  return constant(tree_, made, at);
}

NodeId CodeMaker::text(std::string_view value) {
  Const made;
  made.kind = ConstKind::Str;
  made.text = tree_.intern(value);
  return constant(tree_, made, at);
}

NodeId CodeMaker::builtin(std::string_view what) {
  if (!bound_.has(what)) return name(tree_.intern(what));
  const NodeId builtins = call(name(tree_.intern("__import__")), {text("builtins")});
  return attribute(builtins, what);
}

NodeId CodeMaker::attribute(NodeId object, std::string_view attr) {
  return tree_.add(ast::Attribute{object, tree_.intern(attr)}, at);
}

NodeId CodeMaker::call(NodeId function, const Nodes& args) {
  return tree_.add(ast::Call{function, tree_.list(args), {}}, at);
}

NodeId CodeMaker::compare(NodeId left, ast::CmpOperator op, NodeId right) {
  const std::array<uint32_t, 1> ops = {static_cast<uint32_t>(op)};
  return tree_.add(ast::Compare{left, tree_.numbers(ops), tree_.list({right})}, at);
}

NodeId CodeMaker::assign_all(const std::vector<Symbol>& targets, NodeId value) {
  Nodes nodes;
  for (const Symbol target : targets) nodes.push_back(name(target));
  return tree_.add(ast::Assign{tree_.list(nodes), value}, at);
}

NodeId CodeMaker::delete_all(const std::vector<Symbol>& names) {
  Nodes nodes;
  for (const Symbol each : names) nodes.push_back(name(each));
  return tree_.add(ast::Delete{tree_.list(nodes)}, at);
}

NodeId CodeMaker::match(NodeId subject, NodeId pattern, const Nodes& matched,
                        const Nodes& otherwise) {
  const NodeId any = tree_.add(ast::MatchAs{NodeId(), Symbol()}, at);
  const NodeId first = tree_.add(ast::match_case{pattern, NodeId(), tree_.list(matched)}, at);
  const NodeId second = tree_.add(ast::match_case{any, NodeId(), tree_.list(otherwise)}, at);
  return tree_.add(ast::Match{subject, tree_.list({first, second})}, at);
}

}  // namespace pellucid::fallback
