// SPDX-License-Identifier: Apache-2.0
#include "structure/graph/uses.h"

#include <algorithm>
#include <unordered_set>

#include "structure/graph/items.h"
#include "structure/graph/not_structured.h"

namespace pellucid::structure {
namespace {

class Counter {
 public:
  explicit Counter(const Graph& graph)
      : g_(graph),
        uses_{std::vector<uint32_t>(graph.f.values.size()),
              std::vector<uint8_t>(graph.f.values.size())} {}

  UseCounts run() {
    if (!g_.patterns.empty()) note_subjects();
    for (const BlockId id : g_.order()) {
      block(id, false);
      while (!todo_.empty()) {
        const ValueId item = todo_.back();
        todo_.pop_back();
        region(g_.regions[g_[item].a]);
      }
    }
    return std::move(uses_);
  }

 private:
  void use(ValueId id) { ++uses_.count[g_.resolve(id).index()]; }

  void note_subjects() {
    for (const ir::Value& value : g_.f.values) {
      if (value.kind != ValueKind::Region || g_.regions[value.a].kind != RegionKind::Pattern)
        continue;
      for (const ValueId operand : g_.f.operands(value)) subjects_.insert(g_.resolve(operand));
    }
  }

  void block(BlockId id, bool in_comprehension) {
    const ir::Block& block = g_[id];
    for (const ValueId param : block.params) uses_.is_made[param.index()] = 1;
    items(block.items, in_comprehension);
    const bool is_loop = block.exit == ExitKind::ForIter;
    // The last block of a loop of a comprehension may have been merged with the loop's header.
    if (in_comprehension && is_loop) return;
    // The second operand of a loop is the item that it makes.
    const size_t operands = is_loop ? 1 : block.operands.size();
    for (size_t i = 0; i < operands; ++i) use(block.operands[i]);
    if (in_comprehension) return;
    for (const ir::Edge& edge : block.next) {
      for (const ValueId arg : edge.args) use(arg);
    }
  }

  void items(const std::vector<ValueId>& items, bool in_comprehension) {
    for (const ValueId item : items) {
      const ir::Value& value = g_[item];
      const auto operands = g_.f.operands(value);
      uses_.is_made[item.index()] = 1;
      const bool drops_subject = !subjects_.empty() && is_op(value, Op::Pop) &&
                                 subjects_.contains(g_.resolve(operands[0]));
      if (drops_subject) continue;
      for (const ValueId operand : operands) use(operand);
      if (in_comprehension && fills_container(value))
        --uses_.count[g_.resolve(operands[0]).index()];
      if (value.kind == ValueKind::Region) todo_.push_back(item);
    }
  }

  void region(const Region& region) {
    for (const Part& part : region.parts) {
      this->part(part);
      const auto operands = g_.f.operands(g_.resolve(part.result));
      if (region.kind == RegionKind::Chain) --uses_.count[g_.resolve(operands[0]).index()];
    }
    for (size_t i = 0; i < region.steps.size(); ++i) {
      // The first iterator is the operand of the region.
      if (i > 0) use(g_[region.steps[i].header].operands[0]);
      for (const BlockId id : region.steps[i].blocks) block(id, true);
    }
    std::vector<PatternId> patterns{region.pattern};
    while (!patterns.empty()) {
      const PatternId id = patterns.back();
      patterns.pop_back();
      if (!id.valid()) continue;
      const Pattern& pattern = g_.patterns[id.index()];
      if (pattern.value.result.valid()) part(pattern.value);
      patterns.insert(patterns.end(), pattern.subs.begin(), pattern.subs.end());
    }
  }

  void part(const Part& part) {
    items(part.items, false);
    use(part.result);
  }

  const Graph& g_;
  UseCounts uses_;
  std::vector<ValueId> todo_;             // regions that are still to be looked into
  std::unordered_set<ValueId> subjects_;  // of matches
};

}  // namespace

UseCounts count_uses(const Graph& graph) { return Counter(graph).run(); }

void drop_use(Graph& g, ValueId id) {
  ir::Value& value = g[g.resolve(id)];
  if (value.uses > 0) --value.uses;
}

void release(Graph& g, ValueId item) {
  std::vector<ValueId> parts;  // items of regions
  for (ValueId next = item; next.valid();) {
    for (const ValueId operand : g.f.operands(next)) drop_use(g, operand);
    if (g[next].kind == ValueKind::Region) {
      for (const Part& part : g.regions[g[next].a].parts) {
        parts.insert(parts.end(), part.items.begin(), part.items.end());
        drop_use(g, part.result);
      }
    }
    next = ValueId();
    if (parts.empty()) break;
    next = parts.back();
    parts.pop_back();
  }
}

void release(Graph& g, BlockId id) {
  const ir::Block& block = g[id];
  for (const ValueId item : block.items) release(g, item);
  const size_t operands = block.exit == ExitKind::ForIter ? 1 : block.operands.size();
  for (size_t i = 0; i < operands; ++i) drop_use(g, block.operands[i]);
  for (const ir::Edge& edge : block.next) {
    for (const ValueId arg : edge.args) drop_use(g, arg);
  }
}

void recount_uses(Graph& g) {
  const std::vector<uint32_t> uses = count_uses(g).count;
  for (size_t i = 0; i < uses.size(); ++i) g.f.values[i].uses = uses[i];
}

void bind_params(Graph& g, const std::vector<ValueId>& params, const std::vector<ValueId>& args) {
  if (params.size() != args.size()) {
    throw NotStructured("a way that brings other values than are taken",
                        params.empty() ? 0 : g[params[0]].offset);
  }
  for (size_t p = 0; p < params.size(); ++p) {
    // The argument was one use.
    set_uses(g, args[p], g[g.resolve(args[p])].uses + g[params[p]].uses);
    drop_use(g, args[p]);
    g.alias(params[p], args[p]);
  }
}

}  // namespace pellucid::structure
