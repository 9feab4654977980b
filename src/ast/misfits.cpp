// SPDX-License-Identifier: Apache-2.0
#include "ast/misfits.h"

#include <array>
#include <span>

#include "ast/rules.h"

namespace pellucid::ast {

namespace {

// The rules for one field that holds nodes.
struct Children {
  Kinds kinds;
  bool may_be_absent = false;
};
// By kind, and by the place of the field among those that hold nodes.
using Rules = std::array<std::array<Children, 7>, kKinds>;

Rules all_rules() {
  Rules rules;
  for (size_t k = 0; k < kKinds; ++k) {
    const auto kind = static_cast<Kind>(k);
    size_t i = 0;
    for (const ChildField child : child_fields_of(kind)) {
      const FieldInfo& field = fields_of(kind)[child.slot];
      rules[k][i++] = {kinds_in(kind, field), child.is_list ? items_may_be_absent(kind, field.name)
                                                            : may_be_absent(kind, field.name)};
    }
  }
  return rules;
}

// Returns true if the node has all children that it needs, each of a kind that it may be. Calls
// visit(child) for each until then.
template <typename Visit>
bool has_its_parts(const Tree& tree, const Tree::Record& node, const Rules& rules, Visit visit) {
  const Children* rule = rules[static_cast<size_t>(node.kind)].data();
  for (const ChildField field : child_fields_of(node.kind)) {
    const NodeId one(node.slots[field.slot]);
    for (const NodeId child :
         field.is_list ? tree.items(ListId(one.value)) : std::span<const NodeId>(&one, 1)) {
      if (!child.valid()) {
        if (!rule->may_be_absent) return false;
        continue;
      }
      const Kind kind = tree.kind(child);
      if (!rule->kinds.has(kind)) return false;
      visit(child, kind);
    }
    ++rule;
  }
  return true;
}

const Rules& rules() {
  static const Rules kRules = all_rules();
  return kRules;
}

}  // namespace

inline void Misfits::visit(NodeId id) {
  if (known_[id.index()]) return;
  known_[id.index()] = 1;
  seen_.push_back(id);
  work_.push_back(id);
}

NodeId Misfits::find(ListId body) {
  const Rules& all = rules();
  work_.clear();
  seen_.clear();
  known_.resize(tree_.size());
  for (const NodeId id : tree_.items(body)) visit(id);
  while (!work_.empty()) {
    const NodeId id = work_.back();
    work_.pop_back();
    const bool fits = has_its_parts(tree_, tree_[id], all, [&](NodeId child, Kind kind) {
      if (!child_fields_of(kind).empty()) visit(child);
    });
    if (fits) continue;
    for (const NodeId again : seen_) known_[again.index()] = 0;
    return id;
  }
  return {};
}

}  // namespace pellucid::ast
