// SPDX-License-Identifier: Apache-2.0
#include "ast/misfits.h"

#include "ast/rules.h"

namespace pellucid::ast {

NodeId Misfits::find(ListId body) {
  std::vector<NodeId> work;
  std::vector<NodeId> seen;
  known_.resize(tree_.size());
  const auto visit = [&](NodeId id) {
    if (known_[id.index()]) return;
    known_[id.index()] = true;
    seen.push_back(id);
    work.push_back(id);
  };
  for (const NodeId id : tree_.items(body)) visit(id);
  while (!work.empty()) {
    const NodeId id = work.back();
    work.pop_back();
    if (has_its_parts(id, visit)) continue;
    for (const NodeId again : seen) known_[again.index()] = false;
    return id;
  }
  return {};
}

template <typename Visit>
bool Misfits::has_its_parts(NodeId id, const Visit& visit) {
  const Kind kind = tree_.kind(id);
  const auto fields = fields_of(kind);
  for (size_t i = 0; i < fields.size(); ++i) {
    const uint32_t slot = tree_.slot(id, i);
    const bool is_list = fields[i].type == FieldType::List;
    if (!is_list && fields[i].type != FieldType::Node) continue;
    const NodeId only[] = {NodeId(slot)};
    for (const NodeId child : is_list ? tree_.items(ListId(slot)) : std::span<const NodeId>(only)) {
      if (!may_hold(kind, i, child)) return false;
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
