// SPDX-License-Identifier: Apache-2.0
#include "print/expand.h"
#include "print/expressions.h"

namespace pellucid::print {

using ast::NodeId;

void parameters(Writer& writer, NodeId arguments) {
  writer.open_call("(");
  if (arguments.valid()) expand_parameters(writer, arguments, "");
  writer.close(")", arguments.valid());
}

// def f(a, b=1, /, c=2, *args, d, e=3, **kwargs)
void expand_parameters(Writer& writer, NodeId id, std::string_view before_first) {
  const auto node = writer.tree->as<ast::arguments>(id);
  const auto positional_only = writer.tree->items(node.posonlyargs);
  const auto ordinary = writer.tree->items(node.args);
  const auto keyword_only = writer.tree->items(node.kwonlyargs);
  const auto defaults = writer.tree->items(node.defaults);
  const auto keyword_defaults = writer.tree->items(node.kw_defaults);
  const bool breakable = before_first.empty();  // those of a lambda have no brackets
  bool first = true;
  const auto next = [&] {
    if (first) {
      writer.text(before_first);
    } else {
      writer.comma(breakable);
    }
    first = false;
  };
  const auto with_default = [&](NodeId parameter, NodeId value) {
    next();
    if (value.valid()) writer.line_before(value);
    writer.put(Task::Param, parameter.value);
    if (!value.valid()) return;
    const bool annotated = writer.tree->as<ast::arg>(parameter).annotation.valid();
    writer.text(annotated ? " = " : "=");
    writer.expr(value, kTest);
  };
  const size_t count = positional_only.size() + ordinary.size();
  for (size_t i = 0; i < count; ++i) {
    const bool is_only = i < positional_only.size();
    const NodeId parameter = is_only ? positional_only[i] : ordinary[i - positional_only.size()];
    // Defaults belong to the last parameters.
    const bool has_default = i + defaults.size() >= count;
    with_default(parameter, has_default ? defaults[i + defaults.size() - count] : NodeId());
    if (i + 1 == positional_only.size()) {
      writer.comma(breakable);
      writer.text("/");
    }
  }
  if (node.vararg.valid()) {
    next();
    writer.text("*");
    writer.put(Task::Param, node.vararg.value);
  } else if (!keyword_only.empty()) {
    next();
    writer.text("*");
  }
  for (size_t i = 0; i < keyword_only.size(); ++i) {
    with_default(keyword_only[i], i < keyword_defaults.size() ? keyword_defaults[i] : NodeId());
  }
  if (node.kwarg.valid()) {
    next();
    writer.text("**");
    writer.put(Task::Param, node.kwarg.value);
  }
}

void expand_parameter(Writer& writer, NodeId id) {
  const auto node = writer.tree->as<ast::arg>(id);
  writer.word(node.arg);
  if (!node.annotation.valid()) return;
  if (writer.before(11) && writer.tree->is(node.annotation, ast::Kind::Starred)) {
    writer.problem("a starred annotation needs Python 3.11");
  }
  writer.text(": ");
  writer.expr(node.annotation, kItem);
}

void type_parameters(Writer& writer, ast::ListId params) {
  const auto items = writer.tree->items(params);
  if (items.empty()) return;
  if (writer.before(12)) writer.problem("type parameters need Python 3.12");
  writer.out += '[';
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) writer.out += ", ";
    writer.put(Task::TypeParam, items[i].value);
  }
  writer.out += ']';
}

namespace {

NodeId default_of(const ast::Tree& tree, NodeId id) {
  switch (tree.kind(id)) {
    case ast::Kind::TypeVar:
      return tree.as<ast::TypeVar>(id).default_value;
    case ast::Kind::ParamSpec:
      return tree.as<ast::ParamSpec>(id).default_value;
    default:
      return tree.as<ast::TypeVarTuple>(id).default_value;
  }
}

}  // namespace

void expand_type_parameter(Writer& writer, NodeId id) {
  const NodeId default_value = default_of(*writer.tree, id);
  const bool has_default = default_value.valid();
  if (has_default && writer.before(13)) {
    writer.problem("the default of a type parameter needs Python 3.13");
  }
  if (writer.tree->is(id, ast::Kind::TypeVar)) {
    const auto node = writer.tree->as<ast::TypeVar>(id);
    writer.word(node.name);
    if (node.bound.valid()) {
      writer.text(": ");
      writer.expr(node.bound, kTest);
    }
  } else if (writer.tree->is(id, ast::Kind::ParamSpec)) {
    writer.text("**");
    writer.word(writer.tree->as<ast::ParamSpec>(id).name);
  } else {
    writer.text("*");
    writer.word(writer.tree->as<ast::TypeVarTuple>(id).name);
  }
  if (!has_default) return;
  writer.text(" = ");
  writer.expr(default_value, kItem);
}

}  // namespace pellucid::print
