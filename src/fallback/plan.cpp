// SPDX-License-Identifier: Apache-2.0
// The states and their order: those of one level, and of one handler, are consecutive, so that one
// or two comparisons find the handler of an exception.
#include <algorithm>
#include <tuple>

#include "fallback/state_machine.h"

namespace pellucid::fallback {

namespace {

// How deep the branches of one state may be nested.
constexpr uint32_t kDeepestArm = 8;
constexpr uint32_t kNoArm = ~0u;

}  // namespace

// Returns true for the entry of a handler that only starts the handling: an except clause does that
// by itself.
bool Machine::is_pure_entry(BlockId block) const {
  return only_pushes(graph_, block) && graph_.ways_into(block).empty();
}

void Machine::choose_heads() {
  is_head_.assign(graph_.size(), 1);
  std::vector<uint32_t> depth(graph_.size(), 0);
  std::vector<uint8_t> is_entry(graph_.size(), 0);
  for (const flow::Handler& handler : graph_.f.handlers) {
    is_entry[handler.entry.index()] = 1;
    if (only_pushes(graph_, handler.entry)) {
      is_entry[graph_[handler.entry].next[0].to.index()] = 1;
    }
  }
  for (const BlockId id : graph_.order()) {
    const auto ways = graph_.ways_into(id);
    if (ways.size() != 1 || is_entry[id.index()] || id == graph_.entry()) continue;
    const BlockId from = ways.front().from;
    const bool forks = graph_[from].next[1].to.valid();
    depth[id.index()] = is_head_[from.index()] ? 0 : depth[from.index()];
    if (forks) ++depth[id.index()];
    const bool same = graph_[from].handler == graph_[id].handler &&
                      graph_[from].exc_depth == graph_[id].exc_depth && !ends_in_split(from);
    // Outside of functions there is no `return`: code before the loop must not branch to one.
    const bool outside = forks && entry_first_ && scope_ != Scope::Function;
    bool fits = same && depth[id.index()] <= kDeepestArm;
    if (fits && outside) {
      BlockId at = from;
      while (!is_head_[at.index()]) at = graph_.ways_into(at).front().from;
      fits = at != graph_.entry();
    }
    if (fits) is_head_[id.index()] = 0;
  }
}

void Machine::plan() {
  const ir::Block& first = graph_[graph_.entry()];
  entry_first_ = !first.handler.valid() && first.exc_depth == 0;
  choose_heads();
  raised_to_.assign(graph_.f.handlers.size(), kNoArm);
  pushed_by_.assign(graph_.size(), kNoArm);
  std::vector<uint8_t> is_raised_to(graph_.f.handlers.size(), 0);
  for (const BlockId id : graph_.order()) {
    const ir::Block& b = graph_[id];
    if (is_pure_entry(id)) continue;
    const bool in_front = entry_first_ && id == graph_.entry();
    if (is_head_[id.index()] && !in_front) arms_.push_back({id, b.exc_depth, b.handler, false});
    if (!b.items.empty() && is_op(graph_[b.items.back()], Op::PushExcInfo)) {
      arms_.push_back({id, b.exc_depth, {}, true});
    } else if (ends_in_split(id)) {
      arms_.push_back({id, b.exc_depth - 1, {}, true});
    }
    if (!b.handler.valid()) continue;
    const uint32_t level = level_of(graph_.f.handlers[b.handler.index()]);
    if (level > b.exc_depth) fail("a handler of an exception that is not being handled", id);
    uint8_t& known = is_raised_to[b.handler.index()];
    if (level < b.exc_depth && !known) {
      known = 1;
      arms_.push_back({graph_.f.handlers[b.handler.index()].entry, level, b.handler, true});
    }
  }
  std::stable_sort(arms_.begin(), arms_.end(), [](const Arm& a, const Arm& b) {
    const auto key = [](const Arm& arm) {
      return std::tuple(arm.level, arm.raises, arm.handler.valid() ? arm.handler.value + 1 : 0);
    };
    return key(a) < key(b);
  });
  state_.assign(graph_.size(), kNoArm);
  for (uint32_t i = 0; i < arms_.size(); ++i) {
    if (!arms_[i].raises) {
      state_[arms_[i].block.index()] = i;
    } else if (arms_[i].handler.valid()) {
      raised_to_[arms_[i].handler.index()] = i;
    } else {
      pushed_by_[arms_[i].block.index()] = i;
    }
  }
}

}  // namespace pellucid::fallback
