// SPDX-License-Identifier: Apache-2.0
#include "print/expressions.h"

namespace pellucid::print {

using ast::NodeId;

void Expressions::parameters(NodeId arguments) {
  // Pushed in reverse: the top of the stack comes first.
  close(")", arguments.valid());
  if (arguments.valid()) push(Task::Params, arguments.value, {}, "");
  open("(");
  run();
}

// def f(a, b=1, /, c=2, *args, d, e=3, **kwargs)
void Expressions::expand_parameters(NodeId id, const char* before_first) {
  const auto node = tree_->as<ast::arguments>(id);
  const auto positional_only = tree_->items(node.posonlyargs);
  const auto ordinary = tree_->items(node.args);
  const auto keyword_only = tree_->items(node.kwonlyargs);
  const auto defaults = tree_->items(node.defaults);
  const auto keyword_defaults = tree_->items(node.kw_defaults);
  const bool breakable = *before_first == '\0';  // those of a lambda have no brackets
  bool first = true;
  const auto next = [&] {
    if (first) {
      text(before_first);
    } else {
      comma(breakable);
    }
    first = false;
  };
  const auto with_default = [&](NodeId parameter, NodeId value) {
    next();
    if (value.valid()) line_before(value);
    push(Task::Param, parameter.value);
    if (!value.valid()) return;
    const bool annotated = tree_->as<ast::arg>(parameter).annotation.valid();
    text(annotated ? " = " : "=");
    expr(value, kTest);
  };
  const size_t count = positional_only.size() + ordinary.size();
  for (size_t i = 0; i < count; ++i) {
    const bool is_only = i < positional_only.size();
    const NodeId parameter = is_only ? positional_only[i] : ordinary[i - positional_only.size()];
    // Defaults belong to the last parameters.
    const bool has_default = i + defaults.size() >= count;
    with_default(parameter, has_default ? defaults[i + defaults.size() - count] : NodeId());
    if (i + 1 == positional_only.size()) {
      comma(breakable);
      text("/");
    }
  }
  if (node.vararg.valid()) {
    next();
    text("*");
    push(Task::Param, node.vararg.value);
  } else if (!keyword_only.empty()) {
    next();
    text("*");
  }
  for (size_t i = 0; i < keyword_only.size(); ++i) {
    with_default(keyword_only[i], i < keyword_defaults.size() ? keyword_defaults[i] : NodeId());
  }
  if (node.kwarg.valid()) {
    next();
    text("**");
    push(Task::Param, node.kwarg.value);
  }
}

void Expressions::expand_parameter(NodeId id) {
  const auto node = tree_->as<ast::arg>(id);
  word(node.arg);
  if (!node.annotation.valid()) return;
  if (before(11) && tree_->is(node.annotation, ast::Kind::Starred)) {
    problem("a starred annotation needs Python 3.11");
  }
  text(": ");
  expr(node.annotation, kTest);
}

void Expressions::type_parameters(ast::ListId params) {
  const auto items = tree_->items(params);
  if (items.empty()) return;
  if (before(12)) problem("type parameters need Python 3.12");
  out_ += '[';
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out_ += ", ";
    push(Task::TypeParam, items[i].value);
    run();
  }
  out_ += ']';
}

void Expressions::expand_type_parameter(NodeId id) {
  NodeId default_value;
  if (tree_->is(id, ast::Kind::TypeVar)) {
    const auto node = tree_->as<ast::TypeVar>(id);
    word(node.name);
    if (node.bound.valid()) {
      text(": ");
      expr(node.bound, kTest);
    }
    default_value = node.default_value;
  } else if (tree_->is(id, ast::Kind::ParamSpec)) {
    const auto node = tree_->as<ast::ParamSpec>(id);
    text("**");
    word(node.name);
    default_value = node.default_value;
  } else {
    const auto node = tree_->as<ast::TypeVarTuple>(id);
    text("*");
    word(node.name);
    default_value = node.default_value;
  }
  if (!default_value.valid()) return;
  if (before(13)) problem("the default of a type parameter needs Python 3.13");
  text(" = ");
  expr(default_value, kTest);
}

}  // namespace pellucid::print
