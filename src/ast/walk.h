// SPDX-License-Identifier: Apache-2.0
// ast: walks over the descendants of a node, by the fields of nodes.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "ast/tree.h"

namespace pellucid::ast {

// Calls visit(child) for each child of a node, in the order of its fields. It must not add lists to
// the tree.
template <typename Visit>
void for_each_child(const Tree& tree, NodeId node, Visit visit) {
  const Tree::Record record = tree[node];  // a copy: visit() may add nodes
  for (const ChildField field : child_fields_of(record.kind)) {
    const uint32_t slot = record.slots[field.slot];
    if (!field.is_list) {
      if (NodeId(slot).valid()) visit(NodeId(slot));
      continue;
    }
    for (const NodeId item : tree.items(ListId(slot))) {
      if (item.valid()) visit(item);
    }
  }
}

// The same in the opposite order, for what is put on a stack.
template <typename Visit>
void for_each_child_backwards(const Tree& tree, NodeId node, Visit visit) {
  const Tree::Record record = tree[node];
  const auto fields = child_fields_of(record.kind);
  for (size_t i = fields.size(); i-- > 0;) {
    const uint32_t slot = record.slots[fields[i].slot];
    if (!fields[i].is_list) {
      if (NodeId(slot).valid()) visit(NodeId(slot));
      continue;
    }
    const auto items = tree.items(ListId(slot));
    for (size_t k = items.size(); k-- > 0;) {
      if (items[k].valid()) visit(items[k]);
    }
  }
}

// Nodes that most walks have room for without a second allocation.
inline constexpr size_t kRoom = 24;

// Calls enter(node, state) for each of `roots` and their descendants in preorder. If it returns
// true, the children are visited next, each with a copy of the state that enter() left.
template <typename State, typename Enter>
void walk(const Tree& tree, std::span<const NodeId> roots, const State& state, Enter enter) {
  std::vector<std::pair<NodeId, State>> todo;
  todo.reserve(roots.size() + kRoom);
  for (size_t i = roots.size(); i-- > 0;) {
    if (roots[i].valid()) todo.emplace_back(roots[i], state);
  }
  while (!todo.empty()) {
    auto [node, own] = std::move(todo.back());
    todo.pop_back();
    if (!enter(node, own)) continue;
    for_each_child_backwards(tree, node, [&](NodeId child) { todo.emplace_back(child, own); });
  }
}

// The same without a state: enter(node).
template <typename Enter>
void walk(const Tree& tree, std::span<const NodeId> roots, Enter enter) {
  struct Nothing {};
  walk(tree, roots, Nothing(), [&](NodeId node, Nothing) { return enter(node); });
}

}  // namespace pellucid::ast
