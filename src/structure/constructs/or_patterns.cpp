// SPDX-License-Identifier: Apache-2.0
#include "structure/constructs/or_patterns.h"

#include <algorithm>
#include <set>
#include <unordered_set>

#include "structure/graph/copies.h"
#include "structure/graph/same.h"
#include "structure/graph/uses.h"

namespace pellucid::structure {
namespace {

// Returns true if no test of a pattern has failed on any path that ends with this edge. A block
// that drops parts without a name is shared by all tests that lead to it, so the ways into it are
// examined.
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
      const bool takes_apart = is_op(graph[tested], Op::MatchClass, Op::MatchKeys);
      if (last.edge != (takes_apart ? 1 : 0)) return false;
      continue;
    }
    const bool only_drops = std::all_of(from.items.begin(), from.items.end(),
                                        [&](ValueId item) { return is_op(graph[item], Op::Pop); });
    if (!only_drops) continue;
    const auto ways = graph.ways_into(last.from);
    if (ways.size() == 0) return false;
    if (!seen.insert(last.from).second) continue;
    for (const Way before : ways) todo.push_back(before);
  }
  return true;
}

// Removes copies that are dropped before any name is stored: `_` alone, as the last alternative,
// copies the subject.
void forget_lone_copies(Graph& graph) {
  for (const BlockId id : graph.order()) {
    auto& items = graph[id].items;
    const ExitKind exit = graph[id].exit;
    if (exit == ExitKind::Branch || exit == ExitKind::BranchNone) continue;
    const auto is_copy = [&](ValueId item) { return drops(graph[item], ir::Dropped::Copy); };
    const auto names = [&](ValueId item) { return stores_name(graph[item]); };
    if (std::none_of(items.begin(), items.end(), is_copy) ||
        std::any_of(items.begin(), items.end(), names)) {
      continue;
    }
    for (const ValueId item : items) {
      if (is_copy(item)) release(graph, item);
    }
    std::erase_if(items, is_copy);
  }
}

// Returns how many stack slots hold the value where the edge leads.
size_t times_held(const Graph& graph, const ir::Edge& edge, ValueId value) {
  if (!edge.to.valid()) return 0;
  const ir::Block& to = graph[edge.to];
  const auto is_value = [&](ValueId id) {
    const auto param = std::find(to.params.begin(), to.params.end(), id);
    if (param != to.params.end()) id = edge.args[static_cast<size_t>(param - to.params.begin())];
    return graph.resolve(id) == value;
  };
  return static_cast<size_t>(std::count_if(to.entry_stack.begin(), to.entry_stack.end(), is_value));
}

// Returns true if the item only drops a value that the tests of a pattern have left.
bool drops_part(const Graph& graph, ValueId item) {
  const ir::Value& value = graph[item];
  if (drops(value, ir::Dropped::Copy)) return true;
  return drops(value, ir::Dropped::Result) &&
         graph[graph.resolve(graph.f.operands(value)[0])].kind == ValueKind::Element;
}

// Moves past items that only drop parts, along edges without arguments.
Cursor past_drops(const Graph& graph, Cursor at) {
  walk_past(
      graph, at, [&](ValueId item) { return drops_part(graph, item); },
      [&](const ir::Edge& next) {
        if (!next.args.empty() || !graph[next.to].params.empty()) return false;
        at = {next.to};
        return true;
      });
  return at;
}

// Returns true if only a return is left, which needs no protection: of two copies of a body, one
// may be in the region of the statement around it and the other one outside.
bool only_returns(const Graph& graph, Cursor at) {
  const ir::Block& block = graph[at.block];
  return block.exit == ExitKind::Return &&
         std::all_of(block.items.begin() + static_cast<ptrdiff_t>(at.index), block.items.end(),
                     [&](ValueId item) { return is_op(graph[item], Op::LoadConst); });
}

// Returns true if the same statement starts at both places, one being a copy of the other.
bool is_one_body(const Graph& graph, Cursor a, Cursor b) {
  Twins twins(graph);
  for (size_t steps = 0; steps < kCopiedBlocks; ++steps) {
    a = past_drops(graph, a);
    b = past_drops(graph, b);
    const ir::Block &here = graph[a.block], &there = graph[b.block];
    if (a.block == b.block) return a.index == b.index;
    if (here.exit != there.exit) return false;
    if (here.handler != there.handler && !only_returns(graph, a)) return false;
    if (here.exit_line != there.exit_line) return false;
    const std::span<const ValueId> rest = here.items, other_rest = there.items;
    if (!twins.same_items(rest.subspan(a.index), other_rest.subspan(b.index))) return false;
    if (here.exit == ExitKind::Return || here.exit == ExitKind::Raise) {
      return twins.same(here.operands, there.operands);
    }
    const ir::Edge &next = here.next[0], &other = there.next[0];
    if (here.exit != ExitKind::Goto || !next.to.valid() || !other.to.valid()) return false;
    if (!next.args.empty() || !other.args.empty()) return false;
    a = {next.to, 0};
    b = {other.to, 0};
  }
  return false;
}

// Returns the names that the pattern binds.
std::set<Symbol> names_in(const Graph& graph, PatternId root) {
  std::set<Symbol> names;
  std::vector<PatternId> todo{root};
  while (!todo.empty()) {
    const PatternId id = todo.back();
    todo.pop_back();
    if (!id.valid()) continue;
    const Pattern& pattern = graph.patterns[id.index()];
    names.insert(pattern.names.begin(), pattern.names.end());
    if (pattern.rest.valid()) names.insert(pattern.rest);
    todo.insert(todo.end(), pattern.subs.begin(), pattern.subs.end());
  }
  return names;
}

}  // namespace

bool join_alternatives(Graph& graph, std::vector<ReadCase>& cases) {
  bool joined = false;
  for (size_t end = cases.size(); end > 0; --end) {
    const ReadCase& last = cases[end - 1];
    if (!last.fail.valid() || last.spare != (end < cases.size() ? 2 : 1)) continue;
    const std::set<Symbol> names = names_in(graph, last.pattern);
    size_t begin = end - 1;
    for (; begin > 0; --begin) {
      const ReadCase& before = cases[begin - 1];
      const bool is_one = before.spare == last.spare && is_one_body(graph, before.end, last.end) &&
                          names_in(graph, before.pattern) == names;
      if (!is_one) break;
    }
    // Two or more of them already explain the copy of the subject.
    const bool takes_all = end - begin == 1 && end == cases.size() && names.empty() &&
                           is_one_body(graph, last.end, Cursor{last.fail});
    if (end - begin + takes_all < 2) continue;
    Pattern row;
    row.kind = PatternKind::Or;
    row.line = graph.patterns[cases[begin].pattern.index()].line;
    for (size_t i = begin; i < end; ++i) row.subs.push_back(cases[i].pattern);
    // `(p | q) as name` and `(p as name) | (q as name)` look the same here; the first form is the
    // usual one.
    const std::vector<Symbol> shared = graph.patterns[row.subs[0].index()].names;
    const bool are_shared =
        !takes_all && std::all_of(row.subs.begin(), row.subs.end(), [&](PatternId sub) {
          return graph.patterns[sub.index()].names == shared;
        });
    if (are_shared) {
      row.names = shared;
      for (const PatternId sub : row.subs) graph.patterns[sub.index()].names.clear();
    }
    if (takes_all) row.subs.push_back(PatternId());
    cases[begin].fail = takes_all ? BlockId() : last.fail;
    cases[begin].pattern = PatternId(graph.patterns.size());
    cases[begin].spare = last.spare - 1;
    graph.patterns.push_back(std::move(row));
    cases.erase(cases.begin() + static_cast<ptrdiff_t>(begin) + 1,
                cases.begin() + static_cast<ptrdiff_t>(end));
    joined = true;
    end = begin + 1;
  }
  return joined;
}

void keep_alternatives(Graph& graph) {
  forget_lone_copies(graph);
  std::unordered_set<ValueId> tested;
  for (const BlockId id : graph.order()) {
    const ValueId value = tested_by(graph, id);
    if (!value.valid()) continue;
    tested.insert(value);
    auto& held = graph.held[graph[id].exit_offset];
    for (uint8_t k = 0; k < 2; ++k) held[k] = times_held(graph, graph[id].next[k], value);
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
    if (drops && std::any_of(ways.begin(), ways.end(), matched)) graph.kept.add(id);
  }
}

}  // namespace pellucid::structure
