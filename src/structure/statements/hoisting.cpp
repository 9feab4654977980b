// SPDX-License-Identifier: Apache-2.0
#include "structure/statements/hoisting.h"

#include <algorithm>
#include <array>

#include "ast/nodes.h"
#include "ast/walk.h"
#include "base/check.h"
#include "structure/graph/not_structured.h"
#include "structure/scopes/names.h"

namespace pellucid::structure {

using ast::NodeId;

namespace {

// Throws for a lambda or comprehension whose body is no expression. It has to be defined where it
// is made, among the values evaluated before and after: fallback does that.
void refuse_unstructured(const ast::Tree& tree, NodeId literal) {
  if (!tree.is(literal, ast::Kind::FunctionDef)) return;
  const auto def = tree.as<ast::FunctionDef>(literal);
  if (is_identifier(tree.text(def.name)) || !is_unstructured(tree, def.body)) return;
  throw NotStructured("a function within an expression that is none itself",
                      tree.where(literal).offset);
}

bool has_children(const ast::Tree& tree, NodeId node) {
  return !ast::child_fields_of(tree.kind(node)).empty();
}

// Returns a new node for the definition.
NodeId copy_of(ast::Tree& tree, NodeId definition) {
  const ast::Where at = tree.where(definition);
  switch (tree.kind(definition)) {
    case ast::Kind::FunctionDef:
      return tree.add(tree.as<ast::FunctionDef>(definition), at);
    case ast::Kind::ClassDef:
      return tree.add(tree.as<ast::ClassDef>(definition), at);
    case ast::Kind::TypeAlias:
      return tree.add(tree.as<ast::TypeAlias>(definition), at);
    default:
      PELLUCID_CHECK(false);
  }
}

}  // namespace

NodeId hoist_literals(FunctionContext& c, std::vector<NodeId>& list, NodeId root) {
  if (!root.valid() || !c.expressions.have_function()) return root;
  if (is_literal(c.tree, root)) {
    refuse_unstructured(c.tree, root);
    const Symbol fresh = c.name_of_definition(root);
    const ast::Where at = c.tree.where(root);
    list.push_back(hoisted(c.tree, root, fresh));
    return c.name(fresh, at);
  }
  if (!has_children(c.tree, root)) return root;
  hoist_within(c, list, std::array<NodeId, 1>{root});
  c.without_literals.insert(root);
  return root;
}

void hoist_within(FunctionContext& c, std::vector<NodeId>& list, std::span<const NodeId> roots) {
  if (!c.expressions.have_function()) return;
  // A literal has children.
  const auto may_hold_some = [&](NodeId root) {
    return root.valid() && has_children(c.tree, root);
  };
  if (std::none_of(roots.begin(), roots.end(), may_hold_some)) return;
  ast::walk(c.tree, roots, [&](NodeId node) {
    if (is_literal(c.tree, node)) {
      refuse_unstructured(c.tree, node);
      // The node keeps its place; the definition moves to a new node.
      const Symbol fresh = c.name_of_definition(node);
      const NodeId definition = copy_of(c.tree, node);
      list.push_back(hoisted(c.tree, definition, fresh));
      c.tree.set(node, ast::Name{fresh});
      return false;
    }
    return has_children(c.tree, node) && !c.without_literals.contains(node) &&
           ast::category_of(c.tree.kind(node)) != ast::Category::Stmt &&
           !c.tree.is(node, ast::Kind::Lambda);
  });
}

void hoist_from_header(FunctionContext& c, std::vector<NodeId>& list, NodeId definition) {
  const auto search = [&](ast::ListId part) {
    const auto items = c.tree.items(part);
    if (items.empty()) return;
    // The tree grows during the search.
    hoist_within(c, list, std::vector<NodeId>(items.begin(), items.end()));
  };
  if (c.tree.is(definition, ast::Kind::FunctionDef)) {
    search(c.tree.as<ast::FunctionDef>(definition).decorator_list);
  } else if (c.tree.is(definition, ast::Kind::ClassDef)) {
    const auto def = c.tree.as<ast::ClassDef>(definition);
    search(def.decorator_list);
    search(def.bases);
    search(def.keywords);
  }
}

bool makes_placed_function(const FunctionContext& c, NodeId node) {
  const bool counts = c.graph.f.is_generated || c.keeps_functions_in_place;
  return counts && c.tree.is(node, ast::Kind::FunctionDef) &&
         is_identifier(c.tree.text(c.tree.as<ast::FunctionDef>(node).name));
}

}  // namespace pellucid::structure
