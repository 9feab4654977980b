// SPDX-License-Identifier: Apache-2.0
#include "ast/misfits.h"

#include "ast/rules.h"

namespace pellucid::ast {

namespace {

constexpr size_t kNoChild = kKinds;  // the column after those of the kinds
constexpr uint8_t kYes = 1;
constexpr uint8_t kNo = 2;

}  // namespace

NodeId Misfits::find(ListId body) {
  work_.clear();
  seen_.clear();
  known_.resize(tree_.size());
  for (const NodeId id : tree_.items(body)) visit(id);
  while (!work_.empty()) {
    const NodeId id = work_.back();
    work_.pop_back();
    if (has_its_parts(id)) continue;
    for (const NodeId again : seen_) known_[again.index()] = 0;
    return id;
  }
  return {};
}

void Misfits::visit(NodeId id) {
  if (known_[id.index()]) return;
  known_[id.index()] = 1;
  seen_.push_back(id);
  work_.push_back(id);
}

bool Misfits::has_its_parts(NodeId id) {
  const Tree::Record& node = tree_[id];
  const Kind kind = node.kind;
  for (const ChildField field : child_fields_of(kind)) {
    const uint8_t* const row =
        answers_.data() + (static_cast<size_t>(kind) * kFields + field.slot) * (kKinds + 1);
    const auto accept = [&](NodeId child) {
      const size_t column = child.valid() ? static_cast<size_t>(tree_.kind(child)) : kNoChild;
      if (row[column] != kYes && !may_hold(kind, field, column)) return false;
      if (column != kNoChild && !child_fields_of(static_cast<Kind>(column)).empty()) visit(child);
      return true;
    };
    const uint32_t slot = node.slots[field.slot];
    if (!field.is_list) {
      if (!accept(NodeId(slot))) return false;
      continue;
    }
    for (const NodeId child : tree_.items(ListId(slot))) {
      if (!accept(child)) return false;
    }
  }
  return true;
}

// Looks up what the rules say, and keeps it.
bool Misfits::may_hold(Kind parent, ChildField field, size_t column) {
  uint8_t& answer =
      answers_[(static_cast<size_t>(parent) * kFields + field.slot) * (kKinds + 1) + column];
  if (answer == 0) {
    const FieldInfo& info = fields_of(parent)[field.slot];
    const bool may = column != kNoChild ? fits(parent, info, static_cast<Kind>(column))
                     : field.is_list    ? items_may_be_absent(parent, info.name)
                                        : may_be_absent(parent, info.name);
    answer = may ? kYes : kNo;
  }
  return answer == kYes;
}

}  // namespace pellucid::ast
