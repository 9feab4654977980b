// SPDX-License-Identifier: Apache-2.0
#include "polish/lists.h"

#include <algorithm>
#include <cstddef>

#include "ast/walk.h"
#include "polish/ends.h"

namespace pellucid::polish {

using ast::Kind;
using ast::Kinds;
using ast::ListId;
using ast::NodeId;

namespace {

// Those whose bodies are finished before the body around them.
constexpr Kinds kDefinitions = {Kind::FunctionDef, Kind::ClassDef};

// Those with lists of statements that belong to the body around them, or of clauses with such. What
// has no structure is not rewritten as a statement, but what is in its lists is.
constexpr Kinds kHolders = [] {
  Kinds kinds = kWithLists;
  kinds.add(Kind::Unstructured);
  return kinds;
}();

}  // namespace

Statements items_at(const ast::Tree& tree, Place place) {
  const auto items = view_at(tree, place);
  return {items.begin(), items.end()};
}

void store_at(ast::Tree& tree, Statements& body, Place place, const Statements& items) {
  if (!place.owner.valid()) {
    body = items;
  } else if (!std::ranges::equal(items, view_at(tree, place))) {
    tree.set_slot(place.owner, place.field, tree.list(items).value);
  }
}

std::span<const Listed> Outline::lists() {
  update();
  return lists_;
}

Kinds Outline::kinds() {
  update();
  return kinds_;
}

Kinds Outline::own_kinds() {
  update();
  return own_kinds_;
}

void Outline::update() {
  if (is_filled_ && changes_ == tree_.changes() && seen_ == body_) return;
  is_filled_ = true;
  changes_ = tree_.changes();
  seen_ = body_;
  found_.clear();
  lists_.clear();
  own_kinds_ = {};
  for (const NodeId statement : body_) own_kinds_.add(look_into(statement));
  kinds_ = own_kinds_;
  for (size_t i = 0; i < found_.size(); ++i) {
    const Place place = found_[i];
    const auto items = view_at(tree_, place);
    if (items.empty()) continue;
    Kinds kinds;
    for (const NodeId item : items) kinds.add(look_into(item));
    // Clauses are only a way to their statements.
    if (kinds.has(Kind::ExceptHandler) || kinds.has(Kind::match_case)) continue;
    kinds_.add(kinds);
    lists_.push_back({place, kinds});
  }
}

// Notes the lists of a node, and returns its kind.
Kind Outline::look_into(NodeId node) {
  const Kind kind = tree_.kind(node);
  if (!kHolders.has(kind)) return kind;
  for (const ast::ChildField field : ast::child_fields_of(kind)) {
    if (field.has_statements() || field.has_clauses()) found_.push_back({node, field.slot});
  }
  return kind;
}

namespace {

// Returns the nodes below `statements` that are wanted, in the order of the text; not those in the
// bodies of nodes of the kinds in `closed`.
std::vector<NodeId> nodes_below(const ast::Tree& tree, const Statements& statements, Kinds closed,
                                Kinds wanted) {
  std::vector<NodeId> nodes;
  std::vector<NodeId> todo;
  todo.reserve(statements.size() + ast::kRoom);
  todo.assign(statements.rbegin(), statements.rend());
  const auto note = [&](NodeId node) {
    if (!node.valid()) return;
    const Kind kind = tree.kind(node);
    if (wanted.has(kind) || !ast::child_fields_of(kind).empty()) todo.push_back(node);
  };
  while (!todo.empty()) {
    const NodeId node = todo.back();
    todo.pop_back();
    const ast::Tree::Record& record = tree[node];
    const Kind kind = record.kind;
    if (wanted.has(kind)) nodes.push_back(node);
    const bool is_closed = closed.has(kind);
    const auto fields = ast::child_fields_of(kind);
    // From the end: what is pushed last comes first.
    for (size_t i = fields.size(); i-- > 0;) {
      const uint32_t slot = record.slots[fields[i].slot];
      if (is_closed && fields[i].suite == ast::Suite::Body) continue;
      if (!fields[i].is_list) {
        note(NodeId(slot));
        continue;
      }
      const auto items = tree.items(ListId(slot));
      for (size_t k = items.size(); k-- > 0;) note(items[k]);
    }
  }
  return nodes;
}

}  // namespace

std::vector<NodeId> all_nodes(const ast::Tree& tree, const Statements& body) {
  return nodes_below(tree, body, kDefinitions, Kinds::all());
}

std::vector<NodeId> own_nodes(const ast::Tree& tree, const Statements& body, Kinds wanted) {
  return nodes_below(tree, body, kFunctions, wanted);
}

}  // namespace pellucid::polish
