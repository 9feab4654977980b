// SPDX-License-Identifier: Apache-2.0
// Annotated assignments of modules and classes up to 3.13, and under `from __future__ import
// annotations`: `x: int = 1` stores the value, then `__annotations__['x'] = int`.
#include "ast/nodes.h"
#include "object/fitting_names.h"
#include "object/identifiers.h"
#include "structure/scopes/annotation_parts.h"
#include "structure/scopes/names.h"

namespace pellucid::structure {

using ast::Kind;
using ast::NodeId;
using object::CodeId;
using object::Const;
using object::ConstKind;

bool annotation_store(const ast::Tree& tree, NodeId statement, std::string_view dict, Symbol& name,
                      NodeId& annotation) {
  const NodeId only = only_target(tree, statement);
  if (!only.valid() || !tree.is(only, Kind::Subscript)) return false;
  const auto target = tree.as<ast::Subscript>(only);
  const Const* key = constant_of(tree, target.slice);
  if (!key || key->kind != ConstKind::Str || !is_name(tree, target.value, dict)) return false;
  name = object::as_given(tree.module(), key->text);
  if (!object::is_identifier(tree.text(name))) return false;
  annotation = tree.as<ast::Assign>(statement).value;
  return true;
}

NodeId take_assigned(const ast::Tree& tree, std::vector<NodeId>& out, Symbol name) {
  const NodeId value = out.empty() ? NodeId() : assigned_to(tree, out.back(), tree.text(name));
  if (value.valid()) out.pop_back();
  return value;
}

NodeId annotated(ast::Tree& tree, Symbol name, NodeId annotation, NodeId value, ast::Where at) {
  return tree.add(ast::AnnAssign{tree.add(ast::Name{name}, at), annotation, value, 1}, at);
}

bool fold_annotations(ast::Tree& tree, std::vector<NodeId>& body, CodeId code) {
  const bool are_strings = has_future_annotations(tree.module(), code);
  bool has_any = false;
  rewrite_blocks(tree, body, [&](std::vector<NodeId>& items) {
    std::vector<NodeId> out;
    for (const NodeId statement : items) {
      Symbol name;
      NodeId annotation;
      if (!annotation_store(tree, statement, "__annotations__", name, annotation)) {
        has_any = has_any || tree.is(statement, Kind::AnnAssign);
        out.push_back(statement);
        continue;
      }
      has_any = true;
      if (are_strings) annotation = annotation_of_string(tree, annotation);
      // `x = value` right before belongs to it: the value is stored first.
      const NodeId value = take_assigned(tree, out, name);
      out.push_back(annotated(tree, name, annotation, value, tree.where(statement)));
    }
    items = std::move(out);
  });
  return has_any;
}

}  // namespace pellucid::structure
