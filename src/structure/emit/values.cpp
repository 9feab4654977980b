// SPDX-License-Identifier: Apache-2.0
// Properties of values, noted before any statement is written.
#include <algorithm>
#include <array>

#include "structure/emit/emitter.h"
#include "structure/graph/items.h"
#include "structure/graph/not_structured.h"

namespace pellucid::structure {

namespace {

// Notes the iterators that only a loop uses: the text has their iterable. An iterator with another
// use, which only generated code has, is written as a call of `iter`.
void note_iterators(FunctionContext& context) {
  const Graph& graph = context.graph;
  std::vector<ValueId> found;
  // All blocks, also those that now belong to a Region.
  for (const ir::Block& block : graph.f.blocks) {
    if (block.exit == ExitKind::ForIter && !block.operands.empty()) {
      found.push_back(graph.resolve(block.operands[0]));
    }
  }
  if (found.empty()) return;
  std::vector<uint8_t> has_other_use(graph.f.values.size());
  const auto goes = [&](ValueId value) { part_of(has_other_use, graph.resolve(value)) = 1; };
  for (const BlockId id : graph.order()) {
    const ir::Block& block = graph[id];
    for (const ValueId item : block.items) {
      // The Pop at the end of a loop is no other use.
      if (graph[item].kind != ValueKind::Instr || graph[item].op == Op::Pop) continue;
      for (const ValueId operand : graph.f.operands(item)) goes(operand);
    }
    if (block.exit != ExitKind::ForIter)
      std::for_each(block.operands.begin(), block.operands.end(), goes);
    for (const ir::Edge& edge : block.next) std::for_each(edge.args.begin(), edge.args.end(), goes);
  }
  for (const ValueId iterator : found) {
    if (part_of(has_other_use, iterator) == 0) context.iterators.insert(iterator);
  }
}

// The items of one block, with those of its regions, and the values from elsewhere that they use.
class Operands {
 public:
  explicit Operands(const Graph& graph) : graph_(graph) {}

  // Returns the operands that are neither items of the block nor elements of a value that it
  // unpacks.
  std::vector<ValueId> from_elsewhere(const ir::Block& block) {
    collect(block.items);
    std::vector<ValueId> found;
    for (const ValueId operand : block.operands) operands_.push_back(graph_.resolve(operand));
    for (const ValueId operand : operands_) {
      if (is_from_elsewhere(operand)) found.push_back(operand);
    }
    return found;
  }

 private:
  void collect(const std::vector<ValueId>& items) {
    std::vector<ValueId> todo = items;
    while (!todo.empty()) {
      const ValueId item = todo.back();
      todo.pop_back();
      if (!items_.insert(item).second) continue;
      for (const ValueId operand : graph_.f.operands(item)) {
        operands_.push_back(graph_.resolve(operand));
      }
      if (graph_[item].kind != ValueKind::Region) continue;
      for (const Part& part : graph_.regions[graph_[item].a].parts) {
        todo.insert(todo.end(), part.items.begin(), part.items.end());
        operands_.push_back(graph_.resolve(part.result));
      }
      for (const ComprehensionStep& step : graph_.regions[graph_[item].a].steps) {
        for (const BlockId inner : step.blocks) {
          todo.insert(todo.end(), graph_[inner].items.begin(), graph_[inner].items.end());
        }
      }
    }
  }

  bool is_from_elsewhere(ValueId id) const {
    const ir::Value& value = graph_[id];
    if (value.kind == ValueKind::Element || value.kind == ValueKind::Sent) {
      return is_from_elsewhere(graph_.resolve(graph_.f.operands(value)[0]));
    }
    return value.kind != ValueKind::Null && value.kind != ValueKind::Exception &&
           items_.count(id) == 0;
  }

  const Graph& graph_;
  std::unordered_set<ValueId> items_;
  std::vector<ValueId> operands_;
};

}  // namespace

void note_values(FunctionContext& context) {
  const Graph& graph = context.graph;
  note_iterators(context);
  RareMap<ValueId, uint32_t> pops;
  const auto note_dropped = [&](ValueId value) {
    context.dropped.resize(graph.f.values.size());
    context.dropped[value.index()] = 1;
  };
  for (const BlockId id : graph.order()) {
    for (const ValueId item : graph[id].items) {
      const ir::Value& value = graph[item];
      if (is_op(value, Op::Pop)) {
        const ValueId what = graph.resolve(graph.f.operands(value)[0]);
        const bool is_item = graph[what].kind == ValueKind::Item;
        if (is_item && ++pops[what] == graph[what].uses) note_dropped(what);
        if (drops(value, ir::Dropped::Result) && graph[what].kind == ValueKind::Instr &&
            graph[what].uses == 1) {
          note_dropped(what);
        }
      } else if (fills_container(value)) {
        context.accumulators.insert(graph.resolve(graph.f.operands(value)[0]));
      }
    }
  }
}

bool ExpressionTrial::operator()(BlockId block) {
  const ir::Block& b = context_.graph[block];
  context_.materialized.clear();
  context_.kept_as.clear();
  context_.kept_in.clear();
  context_.here = block;
  for (const ValueId id : Operands(context_.graph).from_elsewhere(b)) {
    context_.materialized.emplace(id, context_.fresh_name(""));
  }
  try {
    Statements trial(context_);
    trial.run(b.items);
    if (!trial.list().empty()) return false;
    trial.take(b.operands[0]);
    return trial.list().empty() && trial.hard_pending() == 0;
  } catch (const NotStructured&) {
    return false;  // it is refused where it is written
  }
}

}  // namespace pellucid::structure
