// SPDX-License-Identifier: Apache-2.0
#include "structure/plan/loop_exits.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <unordered_set>

#include "structure/graph/block_kinds.h"
#include "structure/graph/items.h"
#include "structure/plan/evidence.h"
#include "structure/plan/jumps.h"
#include "structure/plan/try_exits.h"

namespace pellucid::structure {

namespace {

using Regions = std::unordered_set<HandlerId>;

// Adds the regions that protect a block and lie inside the loop.
void add_regions(const Graph& graph, const Loop& loop, BlockId block, Regions& regions) {
  const HandlerId outside = graph[loop.header].handler;
  HandlerId region = graph[block].handler;
  while (region.valid() && region != outside && regions.insert(region).second) {
    region = graph.handlers[region.index()].outer;
  }
}

// Returns the regions that protect code of the loop, without those around it.
Regions regions_in(const Graph& graph, const Loop& loop) {
  Regions regions;
  for (const BlockId member : loop.blocks) add_regions(graph, loop, member, regions);
  return regions;
}

// Returns true if one of the regions protects the block.
bool is_within(const Graph& graph, BlockId block, const Regions& regions) {
  HandlerId region = graph[block].handler;
  while (region.valid() && regions.count(region) == 0) {
    region = graph.handlers[region.index()].outer;
  }
  return region.valid();
}

// Returns true if an except clause of the loop at `header` ends in `from`, followed by a return
// that the clause itself cannot contain: it would have computed its value before its end.
bool is_after_clause(const Graph& graph, BlockId from, BlockId to, BlockId header) {
  const auto& items = graph[from].items;
  if (items.empty() || graph[to].exit != ExitKind::Return || cannot_raise(graph, to)) return false;
  return is_op(graph[items.back()], Op::PopExcept) && graph[to].handler == graph[header].handler &&
         graph.exceptions_at(to, 0) == graph.exceptions_at(header, 0);
}

// Returns true if a block represents a `finally` body around the loop that never ends.
bool is_overtaken_around(const Graph& graph, const Loop& loop, BlockId block) {
  const HandlerId around = graph[loop.header].handler, outside = graph[block].handler;
  return never_ends(graph, block) && !lost_jump(graph, block).valid() && around != outside &&
         within(graph, around, outside);
}

// The places after a loop where control arrives that leaves it other than by its test.
struct LeftFor {
  std::vector<BlockId> places;
  BlockId overtaken;  // such a place, if a `finally` body overtakes
};

// Blocks before `exhausted` that never jump back are still inside (`if c: f(); break`), except
// `outside`.
class Leaving {
 public:
  Leaving(const PlanContext& c, const Loop& loop, BlockId exhausted, const Scope& scope,
          BlockId outside)
      : c_(c),
        loop_(loop),
        exhausted_(exhausted),
        scope_(scope),
        outside_(outside),
        end_(end_of(c, loop, exhausted)),
        regions_(regions_in(c.graph, loop)) {}

  LeftFor run() {
    for (const BlockId member : loop_.blocks) {
      if (member != loop_.header || !exhausted_.valid()) visit(member);
    }
    std::unordered_set<BlockId> seen;
    while (!todo_.empty()) {
      const BlockId target = skip_markers(c_, todo_.back(), scope_);
      todo_.pop_back();
      if (!seen.insert(target).second || c_.analysis.contains(loop_, target)) continue;
      if (is_overtaken_around(c_.graph, loop_, target)) left_.overtaken = target;
      if (is_failed_assert(c_.graph, target) || never_ends(c_.graph, target)) continue;
      if (is_inside(target)) {
        visit(target);
      } else {
        left_.places.push_back(target);
      }
    }
    return std::move(left_);
  }

 private:
  const LoopPlaces& places() {
    if (!places_) places_.emplace(c_, loop_, exhausted_.valid());
    return *places_;
  }

  bool is_inside(BlockId target) {
    const Graph& graph = c_.graph;
    const bool is_dominated = c_.analysis.dominates(loop_.header, target);
    // A case belongs to those before it, wherever its body leads.
    const bool stands_inside = is_next_case(graph, target) || bodies_.count(target) != 0;
    if (stands_inside && is_dominated) return true;
    if (is_dominated && graph.places != nullptr) {
      const Written written = places().of(target);
      if (written != Written::Unknown) return written == Written::Inside;
    }
    // The end of a body is after its last loop, whichever copy of that end was kept.
    if (target == exhausted_ || target == scope_.follow || target == outside_ || !is_dominated) {
      return false;
    }
    // Code that handles an exception of the loop, or shares its protection, is still inside.
    const bool handles = graph.exceptions_at(target, 0) > graph.exceptions_at(loop_.header, 0);
    return handles || is_within(graph, target, regions_) || !end_.is_before(c_, target);
  }

  void visit(BlockId from) {
    const Graph& graph = c_.graph;
    add_regions(graph, loop_, from, regions_);
    const HandlerId handler = graph[from].handler;
    if (handler.valid() && handler != graph[loop_.header].handler) {
      const BlockId entry = graph.f.handlers[handler.index()].entry;
      if (c_.analysis.dominates(loop_.header, entry)) todo_.push_back(entry);
    }
    for (const ir::Edge& edge : graph[from].next) {
      if (!edge.to.valid() || c_.analysis.contains(loop_, edge.to)) continue;
      if (is_after_clause(graph, from, edge.to, loop_.header)) {
        left_.places.push_back(edge.to);
      } else {
        todo_.push_back(edge.to);
      }
    }
    // The block that takes the item is the body of a `for`, even if it never jumps back.
    if (graph[from].exit == ExitKind::ForIter) bodies_.insert(graph[from].next[0].to);
  }

  const PlanContext& c_;
  const Loop& loop_;
  const BlockId exhausted_;
  const Scope& scope_;
  const BlockId outside_;
  const LoopEnd end_;
  Regions regions_;                   // a `try` that starts inside also ends there
  std::optional<LoopPlaces> places_;  // once they were asked for
  LeftFor left_;
  std::unordered_set<BlockId> bodies_;
  std::vector<BlockId> todo_;
};

LeftFor left_for(const PlanContext& c, const Loop& loop, BlockId exhausted, const Scope& scope,
                 BlockId outside = {}) {
  return Leaving(c, loop, exhausted, scope, outside).run();
}

// Returns true if forward edges lead from one place to the other; distant places are not found.
bool leads_to(const PlanContext& c, BlockId from, BlockId to) {
  constexpr size_t kNear = 64;
  std::vector<BlockId> seen{from};
  for (size_t i = 0; i < seen.size() && seen.size() < kNear; ++i) {
    for (const ir::Edge& edge : c.graph[seen[i]].next) {
      if (edge.to == to) return true;
      const bool back = !edge.to.valid() ||
                        c.analysis.number[edge.to.index()] <= c.analysis.number[seen[i].index()];
      if (!back && std::find(seen.begin(), seen.end(), edge.to) == seen.end()) {
        seen.push_back(edge.to);
      }
    }
  }
  return false;
}

// Returns the code that must follow the loop: a `try` or `with` in the loop leads to it, and it
// never jumps back. It cannot be written inside that statement, whose handler would cover it. Of
// several, it is the last one in layout order that no `with` falls through to; the others are the
// `else` of a `try`.
BlockId forced_out(const PlanContext& c, const Loop& loop, const Scope& scope, bool has_test) {
  const Graph& graph = c.graph;
  std::optional<LoopPlaces> places;
  const auto is_written_inside = [&](BlockId id) {
    if (graph.places == nullptr) return false;
    if (!places) places.emplace(c, loop, has_test);
    return places->of(id) == Written::Inside;
  };
  const HandlerId outside = graph[loop.header].handler;
  const uint32_t handled = graph.exceptions_at(loop.header, 0);
  const Regions regions = regions_in(graph, loop);
  std::unordered_set<BlockId> targets;
  // Code that another region of the loop protects is in the loop as well: an `else` within a
  // `finally`.
  std::vector<BlockId> inside;
  std::unordered_set<BlockId> seen;
  const auto look_at = [&](BlockId id) {
    if (is_within(graph, id, regions) && seen.insert(id).second) inside.push_back(id);
  };
  for (const BlockId member : loop.blocks) look_at(member);
  for (size_t i = 0; i < inside.size(); ++i) {
    const HandlerId region = graph[inside[i]].handler;
    for (const ir::Edge& edge : graph[inside[i]].next) {
      if (!edge.to.valid()) continue;
      if (within(graph, graph[edge.to].handler, region)) {
        look_at(edge.to);
        continue;
      }
      const BlockId target = landing(c, edge.to, scope);
      if (!target.valid() || c.analysis.contains(loop, target) || only_returns(graph, target)) {
        continue;
      }
      if (is_within(graph, target, regions)) {
        look_at(target);
        continue;
      }
      if (left_by_jump(graph, target) || never_ends(graph, target)) continue;
      if (graph.exceptions_at(target, 0) > handled || is_written_inside(target)) continue;
      targets.insert(target);
    }
  }
  const auto rank = [&](BlockId id) {
    return rank_after_loop(graph, id, is_after_with(c, id, outside, scope));
  };
  const auto last = std::max_element(targets.begin(), targets.end(),
                                     [&](BlockId a, BlockId b) { return rank(a) < rank(b); });
  return last == targets.end() ? BlockId() : *last;
}

// Returns true if a handler of the loop continues with other statements of the loop, after the
// `try`.
bool continues_after_try(const PlanContext& c, const Loop& loop) {
  const Graph& graph = c.graph;
  const HandlerId outside = graph[loop.header].handler;
  const uint32_t handled = graph.exceptions_at(loop.header, 0);
  const Regions regions = regions_in(graph, loop);
  return std::any_of(loop.blocks.begin(), loop.blocks.end(), [&](BlockId member) {
    const bool is_statement = graph[member].handler == outside &&
                              graph.exceptions_at(member, 0) == handled &&
                              !only_markers(graph, graph[member]);
    return is_statement && std::any_of(regions.begin(), regions.end(), [&](HandlerId region) {
             return c.analysis.dominates(graph.f.handlers[region.index()].entry, member);
           });
  });
}

// Returns true if a `with` in the loop leads to the place, but does not fall through to it.
bool jumps_out_of_with(const PlanContext& c, const Loop& loop, BlockId place, const Scope& scope) {
  const Graph& graph = c.graph;
  const HandlerId outside = graph[loop.header].handler;
  for (const BlockId member : loop.blocks) {
    HandlerId region = graph[member].handler;
    if (!within(graph, region, outside)) continue;
    for (; region != outside; region = graph.handlers[region.index()].outer) {
      const HandlerInfo& info = graph.handlers[region.index()];
      if (info.kind != HandlerKind::With) continue;
      if (info.swallowed.valid() && landing(c, info.swallowed, scope) == place) continue;
      const auto& next = graph[member].next;
      const bool leads_there = std::any_of(next.begin(), next.end(), [&](const ir::Edge& edge) {
        return edge.to.valid() && !within(graph, graph[edge.to].handler, region) &&
               landing(c, edge.to, scope) == place;
      });
      if (leads_there) return true;
    }
  }
  return false;
}

// Returns the best of the places that a loop is left for.
BlockId pick_place(const PlanContext& c, const std::vector<BlockId>& places, bool has_test,
                   HandlerId around, const Scope& scope) {
  const Graph& graph = c.graph;
  BlockId best;
  for (const BlockId target : places) {
    const bool is_return = returns_from_before(graph, target);
    if (drops_and_returns(graph, target) && (has_test || places.size() > 1 || is_return)) continue;
    if (is_return && returns_from_outer(graph, target)) continue;
    // Code that leads to another such place is a statement of the loop, before a `break`.
    const bool is_named = target == scope.follow || is_jump_target(target, scope);
    const bool leads_to_another =
        !is_named && std::any_of(places.begin(), places.end(), [&](BlockId other) {
          return other != target && !only_returns(graph, other) && leads_to(c, target, other);
        });
    if (leads_to_another) continue;
    // Code outside of the region around the loop cannot be written into the loop.
    const auto is_outside = [&](BlockId id) { return !within(graph, graph[id].handler, around); };
    // A block that raises fits anywhere; code that continues does not.
    const auto rank = [&](BlockId id) {
      return std::tuple(!is_outside(id), graph[id].exit == ExitKind::Raise, code_offset(graph, id));
    };
    if (!best.valid() || rank(target) < rank(best)) best = target;
  }
  return best;
}

}  // namespace

std::optional<uint8_t> stay_edge(const PlanContext& c, const Loop& loop,
                                 const IsOneExpression& is_one_expression) {
  const Graph& graph = c.graph;
  const ir::Block& b = graph[loop.header];
  if (b.exit != ExitKind::Branch || !b.params.empty() || tests_case(graph, loop.header)) return {};
  const auto& [first, second] = b.next;
  if (fails_assertion(graph, first.to) || fails_assertion(graph, second.to)) return {};
  const bool in0 = c.analysis.contains(loop, first.to);
  const bool in1 = c.analysis.contains(loop, second.to);
  // If the other target was written into the loop, so was the test: an `if`.
  if (in0 == in1 || is_tested_inside(c, loop, in0 ? second.to : first.to)) return {};
  if (goes_back_before(c, loop)) return {};
  if (!first.args.empty() || !second.args.empty() || !is_one_expression(loop.header)) return {};
  return in0 ? 0 : 1;
}

BlockId follow_of_while(const PlanContext& c, const Loop& loop, BlockId exhausted,
                        const Scope& scope) {
  const bool has_test = exhausted.valid();
  const LeftFor left = left_for(c, loop, exhausted, scope);
  const std::vector<BlockId>& places = left.places;
  BlockId follow = exhausted;
  if (!has_test || std::find(places.begin(), places.end(), exhausted) == places.end()) {
    BlockId best = pick_place(c, places, has_test, c.graph[loop.header].handler, scope);
    // Code before the target of the failing test is in the loop, in an `else` if nowhere else.
    const bool is_after = has_test && is_laid_out_after(c.graph, exhausted, loop.header);
    const BlockId forced = is_after ? BlockId() : forced_out(c, loop, scope, has_test);
    // If only that code reaches the end of the body around the loop, the loop is left for it.
    const auto is_on_the_way = [&] {
      if (best != scope.follow || !continues_after_try(c, loop)) return false;
      const std::vector<BlockId> others = left_for(c, loop, exhausted, scope, forced).places;
      return std::find(others.begin(), others.end(), best) == others.end();
    };
    // Only a `break` leaves a `with` for another place than its fall-through.
    if (forced.valid() &&
        (!best.valid() || jumps_out_of_with(c, loop, forced, scope) || is_on_the_way())) {
      best = forced;
    }
    if (best.valid()) follow = best;
  }
  // If only such a `finally` body follows, the way to it is a `break`.
  return follow.valid() ? follow : left.overtaken;
}

BlockId follow_of_for(const PlanContext& c, BlockId header, const Scope& scope) {
  const Graph& graph = c.graph;
  const BlockId exhausted = skip_markers(c, graph[header].next[1].to, scope);
  const auto breaks = c.breaks.find(graph.resolve(graph[header].operands[0]));
  if (breaks == c.breaks.end()) return exhausted;
  BlockId other;
  for (const BlockId left : breaks->second) {
    const BlockId target = skip_markers(c, left, scope);
    if (target == exhausted) return exhausted;
    const bool returns = only_returns(graph, target) || returns_from_outer(graph, target);
    if (returns && !graph.f.marks_ends) continue;
    if (!other.valid() || other == scope.follow) other = target;
  }
  return other.valid() ? other : exhausted;
}

bool changes_in_loop(const PlanContext& c, BlockId header, ValueId parameter) {
  const Graph& graph = c.graph;
  const auto& params = graph[header].params;
  const auto at = std::find(params.begin(), params.end(), parameter);
  if (at == params.end()) return false;
  const auto place = static_cast<size_t>(at - params.begin());
  for (const Way& way : graph.ways_into(header)) {
    if (c.analysis.number[way.from.index()] < c.analysis.number[header.index()]) continue;
    const auto& args = graph[way.from].next[way.edge].args;
    if (graph.resolve(args[place]) != parameter) return true;
  }
  return false;
}

bool continues_outside(const PlanContext& c, const Loop& loop, HandlerId region) {
  const Graph& graph = c.graph;
  const auto is_outside = [&](BlockId id) { return !within(graph, graph[id].handler, region); };
  if (std::none_of(loop.blocks.begin(), loop.blocks.end(), is_outside)) return false;
  std::unordered_set<BlockId> seen{loop.header};
  std::vector<BlockId> todo{loop.header};
  while (!todo.empty()) {
    const BlockId block = todo.back();
    todo.pop_back();
    if (is_outside(block)) return true;
    for (const Way& way : graph.ways_into(block)) {
      const ExitKind exit = graph[way.from].exit;
      const bool comes = exit != ExitKind::Return && exit != ExitKind::Raise;
      if (comes && c.analysis.contains(loop, way.from) && seen.insert(way.from).second) {
        todo.push_back(way.from);
      }
    }
  }
  return false;
}

}  // namespace pellucid::structure
