// SPDX-License-Identifier: Apache-2.0
// Classes: `__build_class__(function of the body, name, bases...)` is a ClassDef.
#include "ast/nodes.h"
#include "object/fitting_names.h"
#include "structure/expressions/expressions.h"
#include "structure/expressions/operations.h"
#include "structure/scopes/names.h"

namespace pellucid::structure {

using ast::NodeId;
using object::Const;
using object::ConstKind;

NodeId class_literal(ExpressionContext& c, ast::Where at, Nodes args, Nodes keywords) {
  ast::Tree& tree = c.tree;
  if (args.size() < 2 || !tree.is(args[0], ast::Kind::FunctionDef)) return NodeId();
  const Const* name = constant_of(tree, args[1]);
  if (!name || name->kind != ConstKind::Str) return NodeId();
  const Symbol symbol = object::as_given(tree.module(), name->text);
  const auto function = tree.as<ast::FunctionDef>(args[0]);
  const std::string_view text = tree.text(symbol);
  if (c.mangled.may_be_of(tree.module().strings, text)) {
    const auto body = tree.items(function.body);
    const object::CodeId code = body.empty() ? object::CodeId() : tree.where(body[0]).code;
    const bool lists_attributes = c.function.habits.lists_attributes && code.valid();
    demangle(
        tree, text, function.body,
        lists_attributes ? mangled_as_written(tree.module(), code) : std::unordered_set<Symbol>{});
  }
  const ast::ListId bases = tree.list(args.subspan(2));
  return tree.add(ast::ClassDef{symbol, bases, tree.list(keywords), function.body, {}, {}}, at);
}

}  // namespace pellucid::structure
