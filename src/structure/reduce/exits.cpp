// SPDX-License-Identifier: Apache-2.0
#include "structure/reduce/exits.h"

#include <algorithm>
#include <array>
#include <map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "structure/graph/block_kinds.h"
#include "structure/graph/items.h"
#include "structure/graph/uses.h"

namespace pellucid::structure {

namespace {

constexpr uint32_t kApart = 0xfffffffdu;  // between the parts of a key

// Returns true if a block is a test, or is empty and only tests lead to it: a comparison chain has
// dropped there the operand of its next comparison.
bool comes_from_tests(const Graph& g, BlockId id) {
  const ir::Block& block = g[id];
  if (block.exit == ExitKind::Branch) return true;
  const auto ways = g.ways_into(id);
  return block.exit == ExitKind::Goto && block.items.empty() && !ways.empty() &&
         std::all_of(ways.begin(), ways.end(),
                     [&](const Way& way) { return g[way.from].exit == ExitKind::Branch; });
}

bool leaves_clause(const ir::Value& value) {
  return is_op(value, Op::PopExcept) || is_marker(value, flow::Marker::Left);
}

bool only_leaves_or_breaks(const Graph& g, const ir::Block& block) {
  return std::all_of(block.items.begin(), block.items.end(), [&](ValueId item) {
    return drops(g[item], ir::Dropped::Iterator) || leaves_clause(g[item]);
  });
}

// Returns what blocks have in common that leave the same, on the way to one place.
std::vector<uint32_t> key_of_way_out(const Graph& g, const ir::Block& block, bool is_clause) {
  std::vector<uint32_t> key{block.handler.value, block.next[0].to.value, block.exc_depth};
  for (const ValueId item : block.items) {
    const ir::Value& value = g[item];
    if (drops(value, ir::Dropped::Iterator)) {
      key.push_back(g.resolve(g.f.operands(value)[0]).value);
      key.push_back(static_cast<uint32_t>(value.line));
    } else {
      key.insert(key.end(), {kApart, is_op(value, Op::PopExcept) ? 1U : 0U});
    }
  }
  // Each clause removes another exception from the stack.
  for (const ValueId value : block.entry_stack) {
    const ValueId held = g.resolve(value);
    if (is_clause && g[held].kind == ValueKind::Exception) key.push_back(held.value);
  }
  return key;
}

// Merges blocks that only leave regions, clauses or loops on the way to one place, if only tests
// lead to them: compilers copied their content, and the tests of a condition have to fail to one
// place. The ends of two regions, to which their statements lead, stay apart, and so do two
// `break`s, which have two lines.
void join_ways_out(Graph& g) {
  bool changed = false;
  std::map<std::vector<uint32_t>, std::pair<BlockId, bool>> known;  // and whether only tests lead
  for (const BlockId id : std::vector<BlockId>(g.order())) {
    const ir::Block& block = g[id];
    const ir::Edge& next = block.next[0];
    if (block.exit != ExitKind::Goto || block.items.empty() || !block.params.empty()) continue;
    if (next.to == id || !next.args.empty() || !only_leaves_or_breaks(g, block)) continue;
    const bool is_clause = std::any_of(block.items.begin(), block.items.end(),
                                       [&](ValueId item) { return is_op(g[item], Op::PopExcept); });
    const auto ways = g.ways_into(id);
    const auto tests = std::count_if(ways.begin(), ways.end(),
                                     [&](const Way& way) { return comes_from_tests(g, way.from); });
    // A clause has one end, to which the tested statement may lead as well.
    const bool is_failure = tests == static_cast<ptrdiff_t>(ways.size());
    if (!is_failure && !(is_clause && tests > 0)) continue;
    std::vector<uint32_t> key = key_of_way_out(g, block, is_clause);
    const auto [first, fresh] = known.try_emplace(std::move(key), std::pair(id, is_failure));
    if (fresh || !(is_failure || first->second.second)) continue;
    for (const Way way : g.ways_into(id).copy()) {
      g.redirect(way.from, way.edge, first->second.first);
    }
    first->second.second = first->second.second && is_failure;
    release(g, id);
    changed = true;
  }
  if (changed) g.recompute();
}

// Sends a `break` from the last loop of an except clause to the one end of that clause: compilers
// (3.11+) copy the exit of the clause to the `break`.
void join_clause_ends(Graph& g) {
  struct End {
    BlockId block;
    size_t begin;  // of the items that do nothing but leave the clause
  };
  std::map<std::array<uint32_t, 4>, BlockId> whole;
  std::vector<std::pair<std::array<uint32_t, 4>, End>> copies;
  bool changed = false;
  for (const BlockId id : g.order()) {
    const ir::Block& block = g[id];
    const ir::Edge& next = block.next[0];
    if (block.exit != ExitKind::Goto || !next.args.empty() || !block.params.empty()) continue;
    size_t begin = block.items.size();
    uint32_t left = 0;
    for (; begin > 0 && leaves_clause(g[block.items[begin - 1]]); --begin) {
      left += is_op(g[block.items[begin - 1]], Op::PopExcept) ? 1 : 0;
    }
    if (left == 0) continue;
    const std::array<uint32_t, 4> key{block.handler.value, next.to.value,
                                      g.exceptions_at(id, begin), left};
    if (begin == 0) {
      whole.try_emplace(key, id);
      continue;
    }
    const ir::Value& before = g[block.items[begin - 1]];
    const bool breaks = drops(before, ir::Dropped::Iterator);
    if (breaks) copies.push_back({key, {id, begin}});
  }
  for (const auto& [key, copy] : copies) {
    const auto end = whole.find(key);
    if (end == whole.end()) continue;
    g[copy.block].items.resize(copy.begin);
    g.redirect(copy.block, 0, end->second);
    changed = true;
  }
  if (changed) g.recompute();
}

// Returns true if control jumps after item `i`: compiler_try_except ends each clause with a jump to
// what follows the statement. Only where the bytecode tells jump statements apart (3.8) is that not
// a `return` of the clause, whose code would come next (compiler_return).
bool jumps_after(const Graph& graph, BlockId block, size_t i) {
  constexpr uint32_t kNext = 4;  // an instruction and the prefix of the next one
  const auto& items = graph[block].items;
  const uint32_t here = graph[items[i]].offset;
  const bool is_last = i + 1 == items.size();
  const uint32_t next = is_last ? graph[block].exit_offset : graph[items[i + 1]].offset;
  return graph.f.marks_ends && (next < here || next > here + kNext) &&
         (is_last || !is_leaving(graph[items[i + 1]]));
}

void split_after_clauses(Graph& graph, const object::Module& module) {
  std::unordered_set<ValueId> star_ends;
  for (const HandlerInfo& info : graph.handlers) {
    if (info.kind == HandlerKind::ExceptStar) star_ends.insert(info.exit);
  }
  const size_t blocks = graph.size();
  for (const BlockId id : graph.order()) {  // which no split changes
    for (size_t i = graph[id].items.size(); i-- > 0;) {
      const ValueId item = graph[id].items[i];
      const ir::Value& value = graph[item];
      if (!is_op(value, Op::PopExcept) && !is_marker(value, flow::Marker::LeftByJump)) continue;
      if (star_ends.count(item) > 0 || jumps_after(graph, id, i) || !may_return(graph, module) ||
          !only_returns(graph, id, i + 1)) {
        graph.split(id, i + 1);
      }
    }
  }
  if (graph.size() != blocks) graph.recompute();
}

void split_after_loops(Graph& graph) {
  const size_t blocks = graph.size();
  for (BlockId block : graph.order()) {
    for (size_t i = 0; i < graph[block].items.size();) {
      const bool is_exit = drops(graph[graph[block].items[i++]], ir::Dropped::Iterator);
      if (is_exit) block = graph.split(block, std::exchange(i, 0));
    }
  }
  if (graph.size() != blocks) graph.recompute();
}

}  // namespace

void join_exits(Graph& graph) {
  join_ways_out(graph);
  join_clause_ends(graph);
}

void split_exits(Graph& graph, const object::Module& module) {
  split_after_clauses(graph, module);
  split_after_loops(graph);
}

}  // namespace pellucid::structure
