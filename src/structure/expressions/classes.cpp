// SPDX-License-Identifier: Apache-2.0
// Classes: `__build_class__(function of the body, name, bases...)` is a ClassDef.
#include "ast/nodes.h"
#include "object/fitting_names.h"
#include "structure/expressions/expressions.h"
#include "structure/scopes/names.h"

namespace pellucid::structure {

using ast::NodeId;
using object::Const;
using object::ConstKind;

NodeId Expressions::class_literal(ast::Where at, Nodes args, Nodes keywords) {
  if (args.size() < 2 || !tree_.is(args[0], ast::Kind::FunctionDef)) return NodeId();
  const Const* name = constant_of(tree_, args[1]);
  if (!name || name->kind != ConstKind::Str) return NodeId();
  const Symbol symbol = object::as_given(tree_.module(), name->text);
  const auto function = tree_.as<ast::FunctionDef>(args[0]);
  demangle(tree_, tree_.text(symbol), function.body);
  const ast::ListId bases = tree_.list(args.subspan(2));
  return tree_.add(ast::ClassDef{symbol, bases, tree_.list(keywords), function.body, {}, {}}, at);
}

}  // namespace pellucid::structure
