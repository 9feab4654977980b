#include "polish/lists.h"

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

std::vector<Place> nested_lists(const ast::Tree& tree, const Statements& body) {
  std::vector<Place> found;
  const auto look_into = [&](NodeId node) {
    const Kind kind = tree.kind(node);
    if (is_definition(kind)) return;
    const auto fields = ast::fields_of(kind);
    for (size_t i = 0; i < fields.size(); ++i) {
      if (fields[i].type == FieldType::List) found.push_back({node, i});
    }
  };
  for (const NodeId statement : body) look_into(statement);
  // Lists of clauses lead to their statements; those of expressions lead nowhere and are dropped.
  std::vector<Place> lists;
  for (size_t i = 0; i < found.size(); ++i) {
    const Place place = found[i];
    const Statements items = items_at(tree, place);
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

std::vector<NodeId> nodes_below(const ast::Tree& tree, const Statements& body, bool in_lambdas) {
  std::vector<NodeId> nodes = body;
  for (size_t n = 0; n < nodes.size(); ++n) {
    const NodeId node = nodes[n];
    const Kind kind = tree.kind(node);
    const auto fields = ast::fields_of(kind);
    for (size_t i = 0; i < fields.size(); ++i) {
      const uint32_t slot = tree.slot(node, i);
      const bool is_code = is_definition(kind) || (kind == Kind::Lambda && !in_lambdas);
      if (is_code && std::string_view(fields[i].name) == "body") continue;
      if (fields[i].type == FieldType::Node) {
        if (NodeId(slot).valid()) nodes.push_back(NodeId(slot));
      } else if (fields[i].type == FieldType::List) {
        for (const NodeId item : tree.items(ListId(slot))) {
          if (item.valid()) nodes.push_back(item);
        }
      }
    }
  }
  return nodes;
}

}  // namespace

std::vector<NodeId> all_nodes(const ast::Tree& tree, const Statements& body) {
  return nodes_below(tree, body, true);
}

std::vector<NodeId> own_nodes(const ast::Tree& tree, const Statements& body) {
  return nodes_below(tree, body, false);
}

}  // namespace pellucid::polish
