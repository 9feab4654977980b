// SPDX-License-Identifier: Apache-2.0
#include "polish/lists.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace pellucid::polish {

using ast::Category;
using ast::FieldType;
using ast::Kind;
using ast::ListId;
using ast::NodeId;

namespace {

bool is_definition(Kind kind) { return kind == Kind::FunctionDef || kind == Kind::ClassDef; }

}  // namespace

Statements items_at(const ast::Tree& tree, Place place) {
  const auto items = tree.items(ListId(tree.slot(place.owner, place.field)));
  return {items.begin(), items.end()};
}

namespace {

// Returns true if a node of this kind can have a list of statements, or of clauses with statements.
bool holds_statements(Kind kind) {
  switch (kind) {
    case Kind::For:
    case Kind::While:
    case Kind::If:
    case Kind::With:
    case Kind::Match:
    case Kind::match_case:
    case Kind::Try:
    case Kind::ExceptHandler:
    case Kind::Unstructured:
      return true;
    default:
      return false;
  }
}

}  // namespace

std::vector<Place> nested_lists(const ast::Tree& tree, const Statements& body) {
  std::vector<Place> found;
  const auto look_into = [&](NodeId node) {
    const Kind kind = tree.kind(node);
    if (!holds_statements(kind)) return;
    const auto fields = ast::fields_of(kind);
    for (size_t i = 0; i < fields.size(); ++i) {
      if (fields[i].type == FieldType::List) found.push_back({node, i});
    }
  };
  for (const NodeId statement : body) look_into(statement);
  // Lists of clauses are followed to their statements; lists of expressions are dropped.
  std::vector<Place> lists;
  for (size_t i = 0; i < found.size(); ++i) {
    const Place place = found[i];
    const auto items = tree.items(ListId(tree.slot(place.owner, place.field)));
    if (items.empty() || !items[0].valid()) continue;
    const bool clauses =
        tree.is(items[0], Kind::ExceptHandler) || tree.is(items[0], Kind::match_case);
    const bool statements = ast::category_of(tree.kind(items[0])) == Category::Stmt;
    if (!clauses && !statements) continue;
    if (statements) lists.push_back(place);
    for (const NodeId item : items) look_into(item);
  }
  return lists;
}

namespace {

// Returns the nodes below `statements` that are wanted, in the order of the text.
template <typename Wanted>
std::vector<NodeId> nodes_below(const ast::Tree& tree, const Statements& statements,
                                bool in_lambdas, Wanted wanted) {
  std::vector<NodeId> nodes;
  std::vector<NodeId> todo(statements.rbegin(), statements.rend());
  while (!todo.empty()) {
    const NodeId node = todo.back();
    todo.pop_back();
    const Kind kind = tree.kind(node);
    if (wanted(kind)) nodes.push_back(node);
    const bool is_code = is_definition(kind) || (kind == Kind::Lambda && !in_lambdas);
    const auto first = static_cast<std::ptrdiff_t>(todo.size());
    for (const ast::ChildField field : ast::child_fields_of(kind)) {
      const uint32_t slot = tree.slot(node, field.slot);
      if (is_code && std::string_view(ast::fields_of(kind)[field.slot].name) == "body") continue;
      if (!field.is_list) {
        if (NodeId(slot).valid()) todo.push_back(NodeId(slot));
        continue;
      }
      for (const NodeId item : tree.items(ListId(slot))) {
        if (item.valid()) todo.push_back(item);
      }
    }
    if (static_cast<std::ptrdiff_t>(todo.size()) - first > 1) {
      std::reverse(todo.begin() + first, todo.end());
    }
  }
  return nodes;
}

bool any_kind(Kind) { return true; }

}  // namespace

std::vector<NodeId> all_nodes(const ast::Tree& tree, const Statements& body) {
  return nodes_below(tree, body, true, any_kind);
}

std::vector<NodeId> own_nodes(const ast::Tree& tree, const Statements& body) {
  return nodes_below(tree, body, false, any_kind);
}

std::vector<NodeId> own_nodes(const ast::Tree& tree, const Statements& body, bool wanted(Kind)) {
  return nodes_below(tree, body, false, wanted);
}

}  // namespace pellucid::polish
