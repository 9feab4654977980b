// SPDX-License-Identifier: Apache-2.0
#include "polish/first_units.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "polish/ends.h"

namespace pellucid::polish {

using ast::Kind;
using ast::ListId;
using ast::NodeId;

namespace {

// Calls visit(statement) for each statement and clause in the lists of one.
template <typename Visit>
void for_each_inside(const ast::Tree& tree, NodeId holder, Visit visit) {
  for (const ast::ChildField field : ast::child_fields_of(tree.kind(holder))) {
    if (!field.has_statements() && !field.has_clauses()) continue;
    for (const NodeId item : tree.items(ListId(tree.slot(holder, field.slot)))) visit(item);
  }
}

}  // namespace

uint32_t FirstUnits::of(std::span<const NodeId> statements) {
  uint32_t first = Starts::kNoUnit;
  for (const NodeId statement : statements) {
    if (kWithLists.has(tree_.kind(statement)) && !known_.contains(statement)) find(statement);
    first = std::min(first, of_known(statement));
  }
  return first;
}

uint32_t FirstUnits::of_known(NodeId statement) const {
  const auto found = known_.find(statement);
  return found != known_.end() ? found->second : starts_.first_unit({&statement, 1});
}

// Inner statements first.
void FirstUnits::find(NodeId holder) {
  std::vector<std::pair<NodeId, bool>> todo{{holder, false}};
  while (!todo.empty()) {
    const auto [node, is_inside_known] = todo.back();
    if (is_inside_known) {
      todo.pop_back();
      uint32_t first = of_head(node);
      for_each_inside(tree_, node, [&](NodeId item) { first = std::min(first, of_known(item)); });
      known_[node] = first;
      continue;
    }
    todo.back().second = true;
    for_each_inside(tree_, node, [&](NodeId item) {
      if (kWithLists.has(tree_.kind(item)) && !known_.contains(item))
        todo.emplace_back(item, false);
    });
  }
}

// Returns the first unit of what is before the lists.
uint32_t FirstUnits::of_head(NodeId holder) const {
  Statements parts;
  for (const ast::ChildField field : ast::child_fields_of(tree_.kind(holder))) {
    if (field.has_statements() || field.has_clauses()) continue;
    const uint32_t slot = tree_.slot(holder, field.slot);
    if (field.is_list) {
      const auto items = tree_.items(ListId(slot));
      parts.insert(parts.end(), items.begin(), items.end());
    } else if (NodeId(slot).valid()) {
      parts.push_back(NodeId(slot));
    }
  }
  const uint32_t inside = parts.empty() ? Starts::kNoUnit : starts_.first_unit(parts);
  return std::min(starts_.unit_of(holder), inside);
}

}  // namespace pellucid::polish
