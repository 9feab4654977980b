// SPDX-License-Identifier: Apache-2.0
#include "ast/misfits.h"

#include "ast/rules.h"

namespace pellucid::ast {

NodeId Misfits::find(ListId body) {
  work_.clear();
  seen_.clear();
  known_.resize(tree_.size());
  const auto visit = [&](NodeId id) {
    if (known_[id.index()]) return;
    known_[id.index()] = 1;
    seen_.push_back(id);
    if (!child_fields_of(tree_.kind(id)).empty()) work_.push_back(id);
  };
  for (const NodeId id : tree_.items(body)) visit(id);
  while (!work_.empty()) {
    const NodeId id = work_.back();
    work_.pop_back();
    if (has_its_parts(id, visit)) continue;
    for (const NodeId again : seen_) known_[again.index()] = 0;
    return id;
  }
  return {};
}

template <typename Visit>
bool Misfits::has_its_parts(NodeId id, const Visit& visit) {
  const Kind kind = tree_.kind(id);
  for (const ChildField field : child_fields_of(kind)) {
    const uint32_t slot = tree_.slot(id, field.slot);
    const NodeId only[] = {NodeId(slot)};
    for (const NodeId child :
         field.is_list ? tree_.items(ListId(slot)) : std::span<const NodeId>(only)) {
      if (!may_hold(kind, field.slot, child)) return false;
      if (child.valid()) visit(child);
    }
  }
  return true;
}

bool Misfits::may_hold(Kind parent, size_t field, NodeId child) {
  // The column after the kinds: no child.
  const size_t column = child.valid() ? static_cast<size_t>(tree_.kind(child)) : kKinds;
  uint8_t& answer =
      answers_[(static_cast<size_t>(parent) * kFields + field) * (kKinds + 1) + column];
  if (answer == 0) {
    const FieldInfo& info = fields_of(parent)[field];
    const bool may = child.valid()                  ? fits(parent, info, tree_.kind(child))
                     : info.type == FieldType::List ? items_may_be_absent(parent, info.name)
                                                    : may_be_absent(parent, info.name);
    answer = may ? 1 : 2;
  }
  return answer == 1;
}

}  // namespace pellucid::ast
