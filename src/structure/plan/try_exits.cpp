// SPDX-License-Identifier: Apache-2.0
#include "structure/plan/try_exits.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "structure/graph/block_kinds.h"
#include "structure/graph/items.h"
#include "structure/plan/evidence.h"
#include "structure/plan/jumps.h"

namespace pellucid::structure {

namespace {

BlockId entry_of(const Graph& graph, HandlerId handler) {
  return graph.f.handlers[handler.index()].entry;
}

// Returns the block after the last test of a handler's clauses, where no clause has matched.
// Invalid: a bare `except:` matches everything.
BlockId end_of_clauses(const Graph& graph, HandlerId handler) {
  BlockId block = entry_of(graph, handler);
  for (size_t steps = 0; block.valid() && steps <= graph.size(); ++steps) {
    const ir::Block& b = graph[block];
    if (b.exit == ExitKind::Reraise) return only_markers(graph, b) ? block : BlockId();
    if (b.exit != ExitKind::Branch) return {};
    if (!is_op(graph[graph.resolve(b.operands[0])], Op::ExcMatch)) return {};
    block = b.next[1].to;
  }
  return {};
}

// Returns the place after the tests of the clauses: the `else`, or the follow of the statement.
BlockId place_after_clauses(const PlanContext& c, HandlerId handler, const Scope& scope) {
  const BlockId unmatched = end_of_clauses(c.graph, handler);
  if (!unmatched.valid()) return {};
  const BlockId place = c.graph[unmatched].next[0].to;
  return place.valid() ? skip_markers(c, place, scope) : place;
}

// Returns how control gets from `block`, in a clause, to code outside of it: first to `to`.
ClauseEnd clause_end(const PlanContext& c, BlockId block, BlockId to, const Scope& scope) {
  const Graph& graph = c.graph;
  ClauseEnd end{landing(c, to, scope)};
  if (!end.to.valid()) return end;
  const bool is_lost = lost_jump(graph, end.to).valid();
  end.is_left = left_by_jump(graph, block) || starts_after_jump(graph, to) ||
                starts_after_jump(graph, end.to) || is_lost;
  end.is_end = !end.is_left && (ends_clause(graph, block) || ends_clause(graph, to));
  for (BlockId from = block, next = to;; from = next, next = graph[next].next[0].to) {
    // Compilers that mark jump statements copy none: one with several ways into it is not in a
    // clause, but after the whole.
    const bool is_shared = graph.ways_into(next).size() > 1;
    if (!left_by_jump(graph, block) && !is_lost && is_shared) end.is_left = false;
    end.is_far = end.is_far || jumps(graph, from, next) || graph[from].exit != ExitKind::Goto;
    if (next == end.to) return end;
  }
}

// Returns where the clauses of a handler continue at their end, if the bytecode shows it for one
// with a name.
BlockId said_end(const PlanContext& c, BlockId entry, const Scope& scope) {
  for (const ValueId id : c.graph[entry].entry_stack) {
    const BlockId end = c.graph.clause_ends.of(c.graph.resolve(id));
    if (!end.valid()) continue;
    const BlockId place = skip_markers(c, end, scope);
    return place.valid() && c.graph.reachable(place) ? place : BlockId();
  }
  return {};
}

// The evidence that ends_of_try() weighs, for one `try`.
class Ends {
 public:
  Ends(const PlanContext& c, HandlerId handler, const Scope& scope)
      : c_(c), handler_(handler), scope_(scope), entry_(entry_of(c.graph, handler)) {}

  TryEnds run() {
    after_ = place_after_clauses(c_, handler_, scope_);
    look_at_clauses();
    if (after_.valid() && meets_) return {after_, {}};
    said_ = said_end(c_, entry_, scope_);
    if (said_.valid() && said_ != after_) fallen_to_ = said_;
    if (after_.valid() && fallen_to_.valid()) return {fallen_to_, after_};
    if (after_.valid() && (is_jump_target(after_, scope_) || only_returns(c_.graph, after_))) {
      return {after_, {}};
    }
    // All clauses are left by jumps, but one of them has an end that is not reached.
    if (said_.valid() && clause_ends_.empty()) clause_ends_.push_back(said_);
    look_at_body();
    return choose();
  }

 private:
  bool is_code(BlockId end) const {
    return !is_jump_target(end, scope_) && end != scope_.follow && !only_returns(c_.graph, end) &&
           !is_overtaken_outside(c_, end, scope_);
  }

  // Returns true for a `return` of a clause that runs the `finally` body around this `try`.
  bool is_returned_in_clause(BlockId end) const {
    const bool is_around = scope_.handler.valid() &&
                           c_.graph.handlers[scope_.handler.index()].kind == HandlerKind::Finally;
    if (!is_around || !is_returned_before(c_, scope_.handler, end)) return false;
    // Up to 3.9 the end of a clause has any line; `try … finally` is rather one statement.
    return !c_.graph.f.habits.copies_exits || !falls_through(c_, entry_, end, scope_);
  }

  void look_at_clauses() {
    for (const ClauseEnd& end : exits_of_clauses(c_, handler_, scope_)) {
      if (end.is_left || is_returned_in_clause(end.to)) continue;
      clause_ends_.push_back(end.to);
      meets_ = meets_ || end.to == after_;
      const bool returns = (only_returns(c_.graph, end.to) && !end.is_far) ||
                           is_overtaken_outside(c_, end.to, scope_);
      if (end.is_end || (!is_jump_target(end.to, scope_) && !returns)) fallen_to_ = end.to;
    }
  }

  void look_at_body() {
    const std::vector<BlockId> ends = exits_of(c_, handler_, scope_);
    const std::unordered_set<BlockId> ends_clause(clause_ends_.begin(), clause_ends_.end());
    all_ = clause_ends_;
    for (const BlockId end : ends) {
      const bool shared = ends_clause.count(end) > 0;
      const bool returns = only_returns(c_.graph, end) && is_before_clauses(c_.graph, end, entry_);
      if (shared) common_.push_back(end);
      if (!shared && !returns) all_.push_back(end);
      if (!is_code(end)) continue;
      const bool jumps = !shared && orelse_.valid() &&
                         is_after_with(c_, orelse_, handler_, scope_) &&
                         !is_after_with(c_, end, handler_, scope_);
      if (!jumps) (shared ? after_both_ : orelse_) = end;
    }
    body_falls_ = !is_jump_target(scope_.follow, scope_) &&
                  std::find(ends.begin(), ends.end(), scope_.follow) != ends.end();
    for (const BlockId end : clause_ends_) {
      if (is_code(end) && !after_clause_.valid()) after_clause_ = end;
      clause_falls_ |= end == scope_.follow && !is_jump_target(end, scope_);
    }
  }

  TryEnds choose() {
    // Code after a clause that no jump statement can name follows the statement.
    if (after_both_.valid()) return {after_both_, orelse_};
    if (after_clause_.valid()) return {after_clause_, orelse_};
    if (after_.valid()) orelse_ = after_;
    if (said_.valid() && orelse_.valid() && said_ != orelse_) return {said_, orelse_};
    if (clause_falls_) return {scope_.follow, orelse_};
    // With other code besides, the body needs a label (escapes.h).
    if (body_falls_ && !after_.valid()) return {orelse_.valid() ? orelse_ : scope_.follow, {}};
    const BlockId both = pick_follow(c_, common_, scope_);
    if (both.valid() && (!orelse_.valid() || !is_jump_target(both, scope_))) return {both, orelse_};
    if (!orelse_.valid()) return {pick_follow(c_, all_, scope_), {}};
    const BlockId after = pick_follow(c_, clause_ends_, scope_);
    return gets_there(after) ? TryEnds{after, orelse_} : TryEnds{orelse_, {}};
  }

  // Returns true if the clauses reach the place by themselves.
  bool gets_there(BlockId place) const {
    if (!place.valid()) return false;
    // A return with further ways into it is where the clauses fall through to; but not if a `with`
    // or `try` around this one has to be left for it.
    const bool leaves =
        place != scope_.follow && !within(c_.graph, c_.graph[place].handler, scope_.handler);
    if (only_returns(c_.graph, place) && (leaves || c_.analysis.dominates(entry_, place))) {
      return false;
    }
    if (is_overtaken_outside(c_, place, scope_)) return false;
    const bool is_jump = is_jump_target(place, scope_);
    const auto said = is_in_else(c_, handler_, orelse_);
    if (said == false && (is_jump || only_returns(c_.graph, place))) return false;
    if (!is_jump) return true;
    if (place != scope_.follow) return false;
    return said == true || !is_laid_out_after(c_.graph, orelse_, entry_) ||
           falls_through(c_, entry_, place, scope_);
  }

  const PlanContext& c_;
  const HandlerId handler_;
  const Scope& scope_;
  const BlockId entry_;
  BlockId after_;         // after the tests of the clauses
  BlockId said_;          // the end of a clause that the bytecode shows
  BlockId fallen_to_;     // what a clause falls through to, other than `after_`
  BlockId orelse_;        // code that only the body leads to
  BlockId after_both_;    // code that the body and a clause lead to
  BlockId after_clause_;  // code that a clause leads to
  bool meets_ = false, body_falls_ = false, clause_falls_ = false;
  std::vector<BlockId> clause_ends_, common_, all_;
};

}  // namespace

bool is_after_with(const PlanContext& c, BlockId place, HandlerId region, const Scope& scope) {
  const Graph& graph = c.graph;
  for (uint32_t i = 0; i < graph.handlers.size(); ++i) {
    const HandlerInfo& info = graph.handlers[i];
    const bool is_inner = info.kind == HandlerKind::With && info.swallowed.valid() &&
                          HandlerId(i) != region && within(graph, HandlerId(i), region);
    if (is_inner && graph.reachable(info.swallowed) && landing(c, info.swallowed, scope) == place) {
      return true;
    }
  }
  return false;
}

std::vector<ClauseEnd> exits_of_clauses(const PlanContext& c, HandlerId handler,
                                        const Scope& scope) {
  const Graph& graph = c.graph;
  const BlockId entry = entry_of(graph, handler);
  const BlockId unmatched = end_of_clauses(graph, handler);
  std::vector<ClauseEnd> targets;
  std::unordered_map<BlockId, size_t> known;  // its place in `targets`
  std::unordered_set<BlockId> seen{entry};
  std::vector<BlockId> todo{entry};
  // A block past the handler's end no longer handles its exception.
  const flow::Handler& own = graph.f.handlers[handler.index()];
  const uint32_t outside = graph[entry].exc_depth - (own.is_on_block_stack() ? 1 : 0);
  const auto go = [&](BlockId block, BlockId to) {
    const bool ends = graph[to].exc_depth <= outside;
    if (!ends && c.analysis.dominates(entry, to)) {
      if (seen.insert(to).second) todo.push_back(to);
      return;
    }
    const ClauseEnd end = clause_end(c, block, to, scope);
    if (!end.to.valid()) return;
    const auto [place, fresh] = known.emplace(end.to, targets.size());
    if (fresh) return targets.push_back(end);
    ClauseEnd& same = targets[place->second];
    same.is_left = same.is_left && end.is_left;
    same.is_far = same.is_far || end.is_far;
    same.is_end = same.is_end || end.is_end;
  };
  while (!todo.empty()) {
    const BlockId block = todo.back();
    todo.pop_back();
    if (block != unmatched) {
      for (const ir::Edge& edge : graph[block].next) {
        if (edge.to.valid()) go(block, edge.to);
      }
    }
    const HandlerId nested = graph[block].handler;
    if (nested.valid() && nested != graph.handlers[handler.index()].outer) {
      const BlockId to = entry_of(graph, nested);
      if (c.analysis.dominates(entry, to) && seen.insert(to).second) todo.push_back(to);
    }
  }
  return targets;
}

bool is_overtaken_outside(const PlanContext& c, BlockId block, const Scope& scope) {
  const Graph& graph = c.graph;
  if (!never_ends(graph, block) || graph.f.marks_ends || graph[block].handler == scope.handler) {
    return false;
  }
  if (!scope.handler.valid()) return true;
  const HandlerInfo& around = graph.handlers[scope.handler.index()];
  return around.kind != HandlerKind::Finally || around.outer != graph[block].handler;
}

BlockId end_of_finally(const PlanContext& c, HandlerId handler, const Scope& scope) {
  const Graph& graph = c.graph;
  // Control may reach its end only through the clauses of a `try` in it.
  const BlockId end = graph.handlers[handler.index()].end;
  if (end.valid() && graph.reachable(end) && graph[end].exit == ExitKind::Reraise &&
      graph[end].next[0].to.valid()) {
    return skip_markers(c, graph[end].next[0].to, scope);
  }
  const BlockId entry = entry_of(graph, handler);
  // An exception that a statement in it handles is raised again by that statement.
  const auto is_own = [&](ValueId value) {
    const auto& stack = graph[entry].entry_stack;
    return std::any_of(stack.begin(), stack.end(),
                       [&](ValueId each) { return graph.resolve(each) == graph.resolve(value); });
  };
  std::unordered_set<BlockId> seen{entry};
  std::vector<BlockId> todo{entry};
  while (!todo.empty()) {
    const ir::Block& block = graph[todo.back()];
    todo.pop_back();
    if (block.exit == ExitKind::Reraise) {
      const bool ends = block.operands.empty() || is_own(block.operands.back());
      if (ends && block.next[0].to.valid()) return skip_markers(c, block.next[0].to, scope);
      continue;
    }
    const auto reach = [&](BlockId to) {
      if (to.valid() && seen.insert(to).second) todo.push_back(to);
    };
    for (const ir::Edge& edge : block.next) reach(edge.to);
    // Control may come out of a `with` in it, which swallows an exception of its body.
    if (block.handler.valid() && block.handler != graph.handlers[handler.index()].outer) {
      reach(entry_of(graph, block.handler));
    }
  }
  return {};
}

BlockId follow_of_finally(const PlanContext& c, HandlerId handler, const Scope& scope) {
  BlockId follow = end_of_finally(c, handler, scope);
  if (!follow.valid()) {
    // If there are other exits, one that a `finally` body around it overtakes was a return.
    std::vector<BlockId> exits = exits_of(c, handler, scope);
    std::erase_if(exits, [&](BlockId exit) { return never_ends(c.graph, exit); });
    follow = pick_follow(c, exits, scope);
  }
  return follow.valid() && is_returned_before(c, handler, follow) ? BlockId() : follow;
}

TryEnds ends_of_try(const PlanContext& c, HandlerId handler, const Scope& scope) {
  return Ends(c, handler, scope).run();
}

TryEnds ends_of_star(const PlanContext& c, HandlerId handler, const Scope& scope) {
  const Graph& graph = c.graph;
  const std::vector<ClauseEnd> left = exits_of_clauses(c, handler, scope);
  const BlockId after = left.empty() ? place_after_clauses(c, handler, scope) : left[0].to;
  const std::vector<BlockId> ends = exits_of(c, handler, scope);
  // The fall-through of the body itself is no `else`; a jump may lead there all the same.
  const bool falls = std::find(ends.begin(), ends.end(), after) != ends.end();
  BlockId orelse;
  for (const BlockId end : ends) {
    const bool jumps = is_jump_target(end, scope) || only_returns(graph, end) ||
                       (cannot_raise(graph, end) && graph[end].exit == ExitKind::Goto);
    const bool shared = falls && !is_jump_target(after, scope);
    if (end != after && !jumps && !shared) orelse = end;
  }
  if (after.valid()) return {after, orelse};
  return {orelse.valid() ? orelse : pick_follow(c, ends, scope), {}};
}

}  // namespace pellucid::structure
