// SPDX-License-Identifier: Apache-2.0
#include "structure/expressions/pending_targets.h"

#include <algorithm>
#include <utility>

namespace pellucid::structure {

using ast::NodeId;

namespace {

constexpr size_t kMany = 8;  // from then on, looking at each takes longer than a table

}  // namespace

bool are_names(const ast::Tree& tree, std::span<const NodeId> targets) {
  return std::all_of(targets.begin(), targets.end(),
                     [&](NodeId target) { return tree.is(target, ast::Kind::Name); });
}

size_t PendingTargets::find(ValueId value) const {
  if (count_ == 0 || !value.valid()) return all_.size();
  if (!places_.empty()) {
    const auto found = places_.find(value);
    return found == places_.end() ? all_.size() : found->second;
  }
  size_t at = 0;
  while (at < all_.size() && all_[at].value != value) ++at;
  return at;
}

ValueId PendingTargets::first() const {
  const auto found = std::find_if(all_.begin(), all_.end(),
                                  [](const Assigned& each) { return each.value.valid(); });
  return found->value;
}

const std::vector<NodeId>* PendingTargets::of(ValueId value) const {
  const size_t at = find(value);
  return at < all_.size() ? &all_[at].targets : nullptr;
}

void PendingTargets::add(ValueId value, NodeId target) {
  const size_t at = find(value);
  if (at < all_.size()) return all_[at].targets.push_back(target);
  all_.push_back({value, {target}});
  ++count_;
  if (!places_.empty()) {
    places_[value] = at;
  } else if (all_.size() > kMany) {
    for (size_t i = 0; i < all_.size(); ++i) {
      if (all_[i].value.valid()) places_[all_[i].value] = i;
    }
  }
}

std::vector<NodeId> PendingTargets::take(ValueId value) {
  const size_t at = find(value);
  if (at == all_.size()) return {};
  std::vector<NodeId> targets = std::move(all_[at].targets);
  all_[at].value = ValueId();
  places_.erase(value);
  if (--count_ == 0) all_.clear();
  return targets;
}

}  // namespace pellucid::structure
