// SPDX-License-Identifier: Apache-2.0
#include "structure/plan/context.h"

#include <algorithm>
#include <unordered_set>

#include "structure/graph/block_kinds.h"
#include "structure/graph/items.h"
#include "structure/graph/walk.h"
#include "structure/plan/evidence.h"
#include "structure/plan/jumps.h"

namespace pellucid::structure {

PlanContext::PlanContext(const Graph& of, const object::Module& in, const Analysis& loops)
    : graph(of), module(in), analysis(loops), protection(of) {
  for (const BlockId id : graph.order()) {
    const ir::Block& block = graph[id];
    if (block.exit != ExitKind::Goto || block.items.empty()) continue;
    // A `break` from a `for` loop drops the iterator.
    const ir::Value& last = graph[block.items.back()];
    // A `return` drops it as well; some bytecode distinguishes them.
    const bool returns = graph.f.marks_ends && ir::drop_place(last) != ir::DropPlace::BeforeJump;
    if (drops(last, ir::Dropped::Iterator) && !returns) {
      breaks[graph.resolve(graph.f.operands(last)[0])].push_back(block.next[0].to);
    }
    if (!left_by_jump(graph, id)) continue;
    const BlockId target = landing(*this, block.next[0].to, {});
    if (target.valid()) left_for[target].push_back(id);
  }
}

const Loop* loop_at(const PlanContext& c, BlockId block) {
  const uint32_t index = c.analysis.loop_of_header[block.index()];
  return index == ~0u ? nullptr : &c.analysis.loops[index];
}

bool is_open(BlockId header, const Scope& scope) {
  for (const OpenLoop* loop = scope.loop; loop; loop = loop->outer) {
    if (loop->header == header) return true;
  }
  return false;
}

bool is_jump_target(BlockId block, const Scope& scope) {
  return scope.loop && (block == scope.loop->header || block == scope.loop->follow);
}

BlockId skip_markers(const PlanContext& c, BlockId block, const Scope& scope) {
  if (!block.valid()) return block;
  return skip(c.graph, block, Skipped::Marks, [&](BlockId left, const ir::Edge& edge) {
    // The arguments have to be written.
    if (!c.graph[left].params.empty() || !edge.args.empty()) return false;
    // The follow of a surrounding statement may be an empty block as well.
    if (left == scope.follow || is_jump_target(left, scope)) return false;
    // A jump statement.
    if (left_by_jump(c.graph, left)) return false;
    // An empty block may be the header of a loop, before a `try`.
    return loop_at(c, left) == nullptr;
  });
}

BlockId landing(const PlanContext& c, BlockId block, const Scope& scope) {
  const Graph& graph = c.graph;
  bool leaves_loop = false;
  for (size_t steps = 0; steps <= graph.size(); ++steps) {
    block = skip_markers(c, block, scope);
    if (left_by_jump(graph, block)) break;
    const ir::Block& b = graph[block];
    if (only_returns(graph, block)) return leaves_loop ? BlockId() : block;
    const bool only_drops =
        !b.items.empty() && std::all_of(b.items.begin(), b.items.end(), [&](ValueId item) {
          return only_leaves(graph[item]) || drops(graph[item], ir::Dropped::Iterator);
        });
    if (b.exit != ExitKind::Goto || !only_drops || !b.params.empty() || loop_at(c, block)) break;
    if (!b.next[0].args.empty()) break;
    if (block == scope.follow || is_jump_target(block, scope)) break;
    leaves_loop = true;
    block = b.next[0].to;
  }
  return block;
}

std::vector<BlockId> exits_of(const PlanContext& c, HandlerId handler, const Scope& scope) {
  const Graph& graph = c.graph;
  std::vector<BlockId> region = c.protection.region(handler);
  std::sort(region.begin(), region.end(), [&](BlockId a, BlockId b) {
    return c.analysis.number[a.index()] < c.analysis.number[b.index()];
  });
  std::vector<BlockId> targets;
  std::unordered_set<BlockId> known;
  for (const BlockId block : region) {
    for (const ir::Edge& edge : graph[block].next) {
      if (!edge.to.valid() || within(graph, graph[edge.to].handler, handler)) continue;
      const BlockId target = landing(c, edge.to, scope);
      if (!target.valid() || lost_jump(graph, target).valid()) continue;
      if (starts_after_jump(graph, target) && !jumps_after_clauses(graph, target, handler))
        continue;
      if (known.insert(target).second) targets.push_back(target);
    }
  }
  return targets;
}

BlockId pick_follow(const PlanContext& c, const std::vector<BlockId>& targets, const Scope& scope) {
  BlockId best;
  int best_rank = -1;
  for (const BlockId target : targets) {
    int rank = 4;
    if (target == scope.follow) {
      rank = 3;
    } else if (is_jump_target(target, scope)) {
      rank = 1;
    } else if (only_returns(c.graph, target)) {
      rank = only_markers(c.graph, c.graph[target]) ? 0 : 2;
    }
    if (rank > best_rank) {
      best_rank = rank;
      best = target;
    }
  }
  return best_rank == 0 ? BlockId() : best;
}

}  // namespace pellucid::structure
