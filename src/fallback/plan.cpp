// SPDX-License-Identifier: Apache-2.0
#include "fallback/plan.h"

#include <algorithm>
#include <tuple>

#include "fallback/star.h"

namespace pellucid::fallback {

namespace {

// How deep the branches of one state may be nested.
constexpr uint32_t kDeepestArm = 8;
constexpr uint32_t kNoArm = ~0u;

// Returns true for the entry of a handler that only starts the handling: an except clause does that
// by itself.
bool is_pure_entry(const Machine& machine, BlockId block) {
  return only_pushes(machine.graph, block) && machine.graph.ways_into(block).empty();
}

void choose_heads(Machine& machine) {
  machine.is_head.assign(machine.graph.size(), 1);
  std::vector<uint32_t> depth(machine.graph.size(), 0);
  std::vector<uint8_t> is_entry(machine.graph.size(), 0);
  for (const flow::Handler& handler : machine.graph.f.handlers) {
    is_entry[handler.entry.index()] = 1;
    if (only_pushes(machine.graph, handler.entry)) {
      is_entry[machine.graph[handler.entry].next[0].to.index()] = 1;
    }
  }
  for (const BlockId id : machine.graph.order()) {
    const auto ways = machine.graph.ways_into(id);
    if (ways.size() != 1 || is_entry[id.index()] || id == machine.graph.entry()) continue;
    const BlockId from = ways.front().from;
    const bool forks = machine.graph[from].next[1].to.valid();
    depth[id.index()] = machine.is_head[from.index()] ? 0 : depth[from.index()];
    if (forks) ++depth[id.index()];
    const bool same = machine.graph[from].handler == machine.graph[id].handler &&
                      machine.graph[from].exc_depth == machine.graph[id].exc_depth &&
                      !ends_in_split(machine, from);
    // Outside of functions there is no `return`: code before the loop must not branch to one.
    const bool outside = forks && machine.entry_first && machine.scope != Scope::Function;
    bool fits = same && depth[id.index()] <= kDeepestArm;
    if (fits && outside) {
      BlockId at = from;
      while (!machine.is_head[at.index()]) at = machine.graph.ways_into(at).front().from;
      fits = at != machine.graph.entry();
    }
    if (fits) machine.is_head[id.index()] = 0;
  }
}

}  // namespace

void plan(Machine& machine) {
  const ir::Block& first = machine.graph[machine.graph.entry()];
  machine.entry_first = !first.handler.valid() && first.exc_depth == 0;
  choose_heads(machine);
  machine.raised_to.assign(machine.graph.f.handlers.size(), kNoArm);
  machine.pushed_by.assign(machine.graph.size(), kNoArm);
  std::vector<uint8_t> is_raised_to(machine.graph.f.handlers.size(), 0);
  for (const BlockId id : machine.graph.order()) {
    const ir::Block& b = machine.graph[id];
    if (is_pure_entry(machine, id)) continue;
    const bool in_front = machine.entry_first && id == machine.graph.entry();
    if (machine.is_head[id.index()] && !in_front)
      machine.arms.push_back({id, b.exc_depth, b.handler, false});
    if (!b.items.empty() && is_op(machine.graph[b.items.back()], Op::PushExcInfo)) {
      machine.arms.push_back({id, b.exc_depth, {}, true});
    } else if (ends_in_split(machine, id)) {
      machine.arms.push_back({id, b.exc_depth - 1, {}, true});
    }
    if (!b.handler.valid()) continue;
    const uint32_t level = level_of(machine.graph.f.handlers[b.handler.index()]);
    if (level > b.exc_depth)
      machine.fail("a handler of an exception that is not being handled", id);
    uint8_t& known = is_raised_to[b.handler.index()];
    if (level < b.exc_depth && !known) {
      known = 1;
      machine.arms.push_back(
          {machine.graph.f.handlers[b.handler.index()].entry, level, b.handler, true});
    }
  }
  std::stable_sort(machine.arms.begin(), machine.arms.end(), [](const Arm& a, const Arm& b) {
    const auto key = [](const Arm& arm) {
      return std::tuple(arm.level, arm.raises, arm.handler.valid() ? arm.handler.value + 1 : 0);
    };
    return key(a) < key(b);
  });
  machine.arm_of.assign(machine.graph.size(), kNoArm);
  for (uint32_t i = 0; i < machine.arms.size(); ++i) {
    if (!machine.arms[i].raises) {
      machine.arm_of[machine.arms[i].block.index()] = i;
    } else if (machine.arms[i].handler.valid()) {
      machine.raised_to[machine.arms[i].handler.index()] = i;
    } else {
      machine.pushed_by[machine.arms[i].block.index()] = i;
    }
  }
}

}  // namespace pellucid::fallback
