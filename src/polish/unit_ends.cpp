// SPDX-License-Identifier: Apache-2.0
#include "polish/unit_ends.h"

#include <algorithm>
#include <span>

#include "polish/ends.h"
#include "polish/lists.h"

namespace pellucid::polish {

using ast::Kind;
using ast::NodeId;

uint32_t UnitEnds::unit_of(NodeId node) const {
  const ast::Where at = tree_.where(node);
  const bool is_known = !at.code.valid() && at.offset / 2 < units_;
  return is_known ? at.offset / 2 : kNoUnit;
}

UnitEnds::Range UnitEnds::of(NodeId root) {
  // (Kept lists: most searches are short.)
  std::vector<Part>& parts = parts_;
  parts.clear();
  todo_.assign(1, {root, 0});
  while (!todo_.empty()) {
    auto [node, here] = todo_.back();
    todo_.pop_back();
    const Kind kind = tree_.kind(node);
    if (parts.empty() || kWithLists.has(kind)) {
      const auto known = kWithLists.has(kind) ? ranges_.find(node.value) : ranges_.end();
      parts.push_back({node, here, known != ranges_.end() ? known->second : own(node)});
      if (known != ranges_.end()) continue;
      here = parts.size() - 1;
    } else {
      parts[here].range.add(own(node));
    }
    const bool is_function = kFunctions.has(kind);
    for (const ast::ChildField& field : ast::child_fields_of(kind)) {
      if (is_function && field.suite == ast::Suite::Body) continue;
      const NodeId one(tree_[node].slots[field.slot]);
      for (const NodeId child :
           field.is_list ? tree_.items(ast::ListId(one.value)) : std::span(&one, 1)) {
        if (!child.valid()) continue;
        // Every second node is one without children.
        if (ast::child_fields_of(tree_.kind(child)).empty()) {
          parts[here].range.add(own(child));
        } else {
          todo_.emplace_back(child, here);
        }
      }
    }
  }
  for (size_t i = parts.size(); i-- > 0;) {
    const Part& part = parts[i];
    if (kWithLists.has(tree_.kind(part.node))) ranges_[part.node.value] = part.range;
    parts[part.around].range.add(part.range);
  }
  return parts[0].range;
}

}  // namespace pellucid::polish
