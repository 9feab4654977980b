#include "structure/alternatives.h"

#include <algorithm>
#include <unordered_set>

#include "structure/ops.h"
#include "structure/pattern_reader.h"

namespace pellucid::structure {
namespace {

// Whether a pattern has matched so far where the edge leads: no way on which a test has failed.
// What drops parts that no name is given to is the same for all tests that led to it.
bool succeeds(const Graph& graph, Way way) {
  std::vector<Way> todo{way};
  std::unordered_set<BlockId> seen;
  while (!todo.empty()) {
    const Way last = todo.back();
    todo.pop_back();
    const ir::Block& from = graph[last.from];
    if (from.exit == ExitKind::Branch) {
      if (last.edge != 0) return false;
      continue;
    }
    if (from.exit == ExitKind::BranchNone) {
      const ValueId tested = graph.resolve(from.operands[0]);
      const bool takes_apart =
          graph[tested].kind == ValueKind::Instr &&
          (graph[tested].op == Op::MatchClass || graph[tested].op == Op::MatchKeys);
      if (last.edge != (takes_apart ? 1 : 0)) return false;
      continue;
    }
    const bool only_drops = std::all_of(from.items.begin(), from.items.end(), [&](ValueId item) {
      return graph[item].kind == ValueKind::Instr && graph[item].op == Op::Pop;
    });
    if (!only_drops) continue;
    const auto ways = graph.ways_into(last.from);
    if (ways.size() == 0) return false;
    if (!seen.insert(last.from).second) continue;
    for (const Way before : ways) todo.push_back(before);
  }
  return true;
}

// `_` alone, as the last of alternatives, copies what nothing is called after.
void forget_lone_copies(Graph& graph) {
  for (const BlockId id : graph.order()) {
    auto& items = graph[id].items;
    const ExitKind exit = graph[id].exit;
    const auto names = [&](ValueId item) { return stores_name(graph[item]); };
    if (exit == ExitKind::Branch || exit == ExitKind::BranchNone ||
        std::any_of(items.begin(), items.end(), names)) {
      continue;
    }
    std::erase_if(items, [&](ValueId item) {
      const bool is_copy = drops(graph[item], ir::Dropped::Copy);
      if (is_copy) --graph[graph.resolve(graph.f.operands(item)[0])].uses;
      return is_copy;
    });
  }
}

}  // namespace

void keep_alternatives(Graph& graph) {
  forget_lone_copies(graph);
  std::unordered_set<ValueId> tested;
  for (const BlockId id : graph.order()) {
    const ValueId value = tested_by(graph, id);
    if (value.valid()) tested.insert(value);
  }
  for (const BlockId id : graph.order()) {
    const ir::Block& block = graph[id];
    if (block.exit != ExitKind::Goto || !block.items.empty()) continue;
    if (graph.ways_into(id).size() < 2) continue;
    const auto &here = block.entry_stack, &there = graph[block.next[0].to].entry_stack;
    const bool drops = std::any_of(here.begin(), here.end(), [&](ValueId value) {
      return tested.count(value) > 0 && std::count(here.begin(), here.end(), value) >
                                            std::count(there.begin(), there.end(), value);
    });
    const auto ways = graph.ways_into(id);
    const auto matched = [&](const Way way) { return succeeds(graph, way); };
    if (drops && std::any_of(ways.begin(), ways.end(), matched)) graph.keep(id);
  }
}

}  // namespace pellucid::structure
