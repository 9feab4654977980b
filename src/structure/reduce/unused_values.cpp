// SPDX-License-Identifier: Apache-2.0
#include "structure/reduce/unused_values.h"

#include <algorithm>
#include <unordered_map>

#include "base/check.h"
#include "structure/graph/items.h"
#include "structure/graph/uses.h"
#include "structure/reduce/inlined_comprehensions.h"

namespace pellucid::structure {
namespace {

bool is_pop_of(const Graph& g, ValueId item, ValueId param) {
  const ir::Value& value = g[item];
  return drops(value, ir::Dropped::Result) && g.resolve(g.f.operands(value)[0]) == param;
}

// Returns true for `(a := b)` as an expression statement.
bool is_stored_at_last(const Graph& g, const Way& way, ValueId id) {
  const ir::Block& from = g[way.from];
  if (from.exit != ExitKind::Goto || from.items.empty()) return false;
  const ir::Value& last = g[from.items.back()];
  return stores_name(last) && g.resolve(g.f.operands(last)[0]) == id;
}

// For each parameter, its block; for each container, how many items of comprehensions fill it.
struct Drops {
  std::unordered_map<ValueId, BlockId> owners;
  std::unordered_map<ValueId, uint32_t> fills;

  explicit Drops(const Graph& g) {
    for (const BlockId id : g.order()) {
      for (const ValueId param : g[id].params) owners[param] = id;
      for (const ValueId item : g[id].items) {
        if (fills_container(g[item])) ++fills[g.resolve(g.f.operands(item)[0])];
      }
    }
  }
};

// Returns true if the value has another use, or if its Pop would be no statement.
bool needs_no_pop(const Graph& g, const Drops& drops, ValueId id) {
  const ir::Value& value = g[id];
  const auto fills = drops.fills.find(id);
  const uint32_t uses = value.uses - (fills == drops.fills.end() ? 0 : fills->second);
  // A value extracted by a pattern is no statement, even if nothing looks at it.
  return uses > 1 || value.kind == ValueKind::Null || value.kind == ValueKind::Exception ||
         value.kind == ValueKind::Element || is_op(value, Op::MatchClass, Op::MatchKeys);
}

// Returns true if none of the values that a parameter stands for needs a Pop.
bool only_dropped(const Graph& g, const Drops& drops, ValueId param) {
  std::vector<ValueId> todo{param};
  for (size_t i = 0; i < todo.size(); ++i) {
    const auto owner = drops.owners.find(todo[i]);
    if (owner == drops.owners.end()) return false;
    const auto& params = g[owner->second].params;
    const auto place = std::find(params.begin(), params.end(), todo[i]);
    if (place == params.end()) return false;
    for (const Way way : g.ways_into(owner->second)) {
      const auto& args = g[way.from].next[way.edge].args;
      PELLUCID_CHECK(args.size() == params.size());
      const ValueId arg = g.resolve(args[static_cast<size_t>(place - params.begin())]);
      if (is_stored_at_last(g, way, arg)) return false;
      if (is_placeholder(g[arg]) || needs_no_pop(g, drops, arg)) continue;
      if (std::find(todo.begin(), todo.end(), arg) != todo.end()) continue;
      if (g[arg].kind != ValueKind::Phi) return false;
      todo.push_back(arg);
    }
  }
  return true;
}

void forget_placeholders(Graph& g) {
  for (const BlockId id : g.order()) {
    std::erase_if(g[id].items, [&](ValueId item) {
      if (!drops(g[item], ir::Dropped::Result)) return false;
      if (!is_placeholder(g[g.resolve(g.f.operands(item)[0])])) return false;
      release(g, item);
      return true;
    });
  }
}

}  // namespace

void drop_popped_params(Graph& g) {
  const Drops drops(g);
  bool changed = true;
  while (changed) {
    changed = false;
    for (const BlockId id : g.order()) {
      for (size_t p = g[id].params.size(); p-- > 0;) {
        ir::Block& block = g[id];
        const ValueId param = block.params[p];
        const auto pop = std::find_if(block.items.begin(), block.items.end(),
                                      [&](ValueId item) { return is_pop_of(g, item, param); });
        if (g[param].uses > 1 || (g[param].uses == 1 && pop == block.items.end())) continue;
        if (!only_dropped(g, drops, param)) continue;
        if (pop != block.items.end()) block.items.erase(pop);
        block.params.erase(block.params.begin() + static_cast<ptrdiff_t>(p));
        for (const Way way : g.ways_into(id)) {
          auto& args = g[way.from].next[way.edge].args;
          drop_use(g, args[p]);
          args.erase(args.begin() + static_cast<ptrdiff_t>(p));
        }
        changed = true;
      }
    }
  }
}

void forget_carried(Graph& g) {
  if (g.f.marks_ends) forget_placeholders(g);
  for (const BlockId id : g.order()) {
    std::erase_if(g[id].items, [&](ValueId item) {
      if (!drops(g[item], ir::Dropped::Carried)) return false;
      const ir::Value& value = g[g.resolve(g.f.operands(item)[0])];
      if (is_op(value, Op::LoadConst)) {
        g[item].b = static_cast<uint32_t>(ir::Dropped::Constant);
        return false;
      }
      release(g, item);
      return true;
    });
  }
}

}  // namespace pellucid::structure
