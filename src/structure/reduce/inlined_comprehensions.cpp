// SPDX-License-Identifier: Apache-2.0
#include "structure/reduce/inlined_comprehensions.h"

#include <algorithm>

#include "structure/graph/block_kinds.h"
#include "structure/graph/items.h"
#include "structure/graph/uses.h"
#include "structure/graph/walk.h"

namespace pellucid::structure {
namespace {

// Returns true if the item restores a local that the comprehension has hidden.
bool restores(const Graph& g, ValueId item) {
  const ir::Value& value = g[item];
  return is_op(value, Op::StoreFast) &&
         is_op(g[g.resolve(g.f.operands(value)[0])], Op::LoadFastAndClear);
}

// Returns the container to which the innermost block adds an element.
ValueId filled_by(const Graph& g, const std::vector<ComprehensionStep>& steps) {
  for (const ValueId item : g[steps.back().blocks.back()].items) {
    if (fills_container(g[item])) return g.resolve(g.f.operands(item)[0]);
  }
  return {};
}

// Returns true if the item saves a local that the comprehension hides, or makes a cell of it.
bool hides_local(const ir::Value& value) {
  return is_op(value, Op::LoadFastAndClear, Op::MakeCell);
}

// Appends the locals that are hidden, and the cells that are made, right before the `made`-th item:
// also those of the block before, since a protected region starts there.
void add_hidden(const Graph& g, BlockId block, size_t made, Region& region) {
  for (size_t left = made;;) {
    for (; left > 0; --left) {
      const ir::Value& local = g[g[block].items[left - 1]];
      if (!hides_local(local)) return;
      auto& names = is_op(local, Op::MakeCell) ? region.cells : region.hidden;
      names.insert(names.begin(), local.symbol());
    }
    if (g.ways_into(block).size() != 1) return;
    block = g.ways_into(block).front().from;
    if (g[block].exit != ExitKind::Goto) return;
    left = g[block].items.size();
    if (left == 0) return;
  }
}

// Returns the container of a comprehension whose test is known to be false: it never gets an
// element, and is still made before the loop, after its iterator and the locals that it hides.
ValueId left_empty(const Graph& g, BlockId block, ValueId iterator) {
  const auto& items = g[block].items;
  if (items.size() < 2) return {};
  // 3.15 makes the iterator after the container.
  const bool is_early = items.back() == iterator;
  size_t before = items.size() - (is_early ? 2 : 1);
  const ValueId last = items[before];
  while (before > 0 && hides_local(g[items[before - 1]])) --before;
  const bool hides = items[before] != last;
  if (!hides && !is_early && (before == 0 || items[before - 1] != iterator)) return {};
  const ir::Value& made = g[last];
  const bool builds = is_op(made, Op::BuildList, Op::BuildSet, Op::BuildMap);
  return builds && made.count == 0 ? last : ValueId();
}

// Returns true if all ways into the block come from one predecessor: maybe two, as for `if x or
// True`.
bool comes_from_one(const Graph& g, BlockId block) {
  const auto ways = g.ways_into(block);
  return ways.size() == 1 ||
         (ways.size() == 2 && ways.front().from == ways.back().from && g[block].params.empty());
}

// Returns the block after the markers: an asynchronous loop is left by a block that held only the
// end of its handler.
BlockId after_markers(const Graph& g, BlockId block) {
  return skip(g, block, Skipped::Marks, [&](BlockId left, const ir::Edge&) {
    return left == block && g[block].params.empty() && g.ways_into(block).size() == 1;
  });
}

// Returns true if the body returns a constant after the first item.
bool returns_after_first(const Graph& g, BlockId block) {
  const bool continues = g[block].exit == ExitKind::Goto && g[block].items.size() == 1;
  return continues ? returns_constant(g, g[block].next[0].to) : returns_constant(g, block, 1);
}

}  // namespace

std::vector<ComprehensionStep> comprehension_steps(const Graph& g, BlockId header) {
  std::vector<ComprehensionStep> steps;
  BlockId outer;  // where the current loop goes when it is exhausted, if it is nested
  for (;;) {
    const ir::Block& loop = g[header];
    if (loop.exit != ExitKind::ForIter || !loop.items.empty()) return {};
    if (outer.valid() && after_markers(g, loop.next[1].to) != outer) return {};
    steps.push_back({header, {}});
    BlockId block = loop.next[0].to;
    BlockId nested;
    for (size_t count = 0; count <= g.size(); ++count) {
      const ir::Block& b = g[block];
      if (!comes_from_one(g, block)) return {};
      steps.back().blocks.push_back(block);
      if (b.exit == ExitKind::Branch) {
        const bool back0 = b.next[0].to == header, back1 = b.next[1].to == header;
        if (back0 && back1) return steps;  // the next test was known to be false
        if (back0 == back1 && b.next[0].to != b.next[1].to) return {};
        block = b.next[back0 ? 1 : 0].to;
        continue;
      }
      if (b.exit != ExitKind::Goto) return {};
      if (b.next[0].to == header) return steps;
      nested = b.next[0].to;
      break;
    }
    if (!nested.valid() || steps.size() > g.size()) return {};
    outer = header;
    header = nested;
  }
}

void drop_at_last(Graph& g) {
  for (const BlockId id : g.order()) {
    auto& items = g[id].items;
    for (size_t i = 1; i < items.size(); ++i) {
      const bool is_late = is_op(g[items[i]], Op::Pop) && restores(g, items[i - 1]);
      if (is_late && g.f.folds.swaps) {
        const bool on_its_line = g[items[i]].line == g[items[i - 1]].line;
        ir::set_drop_place(g[items[i]], on_its_line ? ir::DropPlace::Behind : ir::DropPlace::Apart);
      }
      const bool is_early = is_op(g[items[i - 1]], Op::Pop) && restores(g, items[i]);
      if (is_early) std::swap(items[i - 1], items[i]);
    }
    if (!g.f.folds.swaps || items.empty() || !restores(g, items.back())) continue;
    const BlockId next = g[id].exit == ExitKind::Goto ? g[id].next[0].to : BlockId();
    if (!next.valid() || g[next].params.size() != 1 || g[next].items.empty()) continue;
    ir::Value& drop = g[g[next].items[0]];
    const bool drops =
        is_op(drop, Op::Pop) && g.resolve(g.f.operands(drop)[0]) == g[next].params[0];
    if (drops && returns_after_first(g, next)) {
      ir::set_drop_place(drop, ir::DropPlace::AtEnd);
    }
  }
}

bool fold_inlined_comprehension(Graph& g, const object::Module& module, BlockId block) {
  if (g[block].exit != ExitKind::Goto) return false;
  const BlockId header = g[block].next[0].to;
  if (!header.valid() || header == block || g[header].exit != ExitKind::ForIter) return false;
  const std::vector<ComprehensionStep> steps = comprehension_steps(g, header);
  if (steps.empty()) return false;
  ValueId container = filled_by(g, steps);
  const bool is_filled = container.valid();
  const ValueId iterable = g.resolve(g[header].operands[0]);
  if (!is_filled) container = left_empty(g, block, iterable);
  if (!container.valid()) return false;
  // The iterator is made here; if it, or since 3.15 its iterable, is an argument, the comprehension
  // is a function.
  const ir::Value& source = g[iterable];
  if (!is_op(source, Op::GetIter, Op::GetAiter)) return false;
  const ir::Value& of = g[g.resolve(g.f.operands(source)[0])];
  if (is_op(of, Op::LoadFast) && module.text(of.symbol()) == ".0") return false;
  auto& items = g[block].items;
  const auto made = std::find(items.begin(), items.end(), container);
  if (made == items.end()) return false;
  const BlockId after = g[header].next[1].to;
  if (g.ways_into(after).size() != 1 || !g[after].params.empty()) return false;
  Region region;
  add_hidden(g, block, static_cast<size_t>(made - items.begin()), region);
  items.erase(made);
  for (const BlockId block_after : {after, after_markers(g, after)}) {
    std::erase_if(g[block_after].items, [&](ValueId item) {
      const bool goes = restores(g, item);
      if (goes) release(g, item);
      return goes;
    });
  }
  // The marker at the end of an asynchronous loop's handler would come before the consumer of the
  // value.
  auto& rest = g[after].items;
  if (!rest.empty() && is_marker(g[rest[0]])) {
    rest.erase(rest.begin());
  }

  region.kind = RegionKind::Comprehension;
  region.steps = steps;
  region.container = g[container].op;
  ir::Value value;
  value.kind = ValueKind::Region;
  value.a = static_cast<uint32_t>(g.regions.size());
  value.offset = g[container].offset;
  value.line = g[container].line;
  const uint32_t inside = is_filled ? 1 : 0;  // adding the element is a use
  const uint32_t outside = g[container].uses - std::min(inside, g[container].uses);
  value.uses = std::max(1u, outside);
  g.regions.push_back(std::move(region));
  const ValueId iterator = g.resolve(g[header].operands[0]);
  const ValueId result = g.add(value, std::array<ValueId, 1>{iterator});
  g[block].items.push_back(result);
  if (outside == 0) {
    // An unused list: an expression statement. Its Pop was left out, since the loop used the list.
    ir::Value pop;
    pop.op = Op::Pop;
    pop.offset = value.offset;
    pop.line = value.line;
    g[block].items.push_back(g.add(pop, std::array<ValueId, 1>{result}));
  }
  g.alias(container, result);
  set_uses(g, iterator, 1);
  g.redirect(header, 1, {});
  g.redirect(block, 0, after);
  merge_into_predecessor(g, after);
  return true;
}

}  // namespace pellucid::structure
