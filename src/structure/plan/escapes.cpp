// SPDX-License-Identifier: Apache-2.0
#include "structure/plan/escapes.h"

#include <algorithm>
#include <unordered_set>

#include "structure/graph/block_kinds.h"
#include "structure/graph/items.h"
#include "structure/plan/evidence.h"
#include "structure/plan/jumps.h"

namespace pellucid::structure {

namespace {

// Returns the target of a jump statement in the `finally` body that leads to code after the region:
// out of a loop without a back edge, as there is no other way into that code. Invalid: there is
// none.
BlockId left_by_finally(const PlanContext& c, HandlerId handler, const Scope& scope) {
  const Graph& graph = c.graph;
  const BlockId entry = graph.f.handlers[handler.index()].entry;
  const uint32_t outside = graph[entry].exc_depth - 1;
  const bool never_raises = !graph.f.marks_ends && !graph.handlers[handler.index()].end.valid();
  const auto ends_handling = [&](BlockId id) {
    const auto& items = graph[id].items;
    return !items.empty() && is_op(graph[items.back()], Op::PopExcept);
  };
  std::unordered_set<BlockId> seen{entry};
  std::vector<BlockId> todo{entry};
  while (!todo.empty()) {
    const BlockId id = todo.back();
    todo.pop_back();
    const ir::Block& block = graph[id];
    if (left_by_jump(graph, id) && block.exit == ExitKind::Goto) {
      // A loop in the body may be left so as well.
      const BlockId target = landing(c, block.next[0].to, scope);
      if (target.valid() && graph.exceptions_at(target, 0) <= outside) return target;
    }
    for (const ir::Edge& edge : block.next) {
      if (!edge.to.valid()) continue;
      const bool is_inside = graph[edge.to].exc_depth > outside || left_by_jump(graph, edge.to);
      // Without markers (3.9+): if nothing is raised again, it is a jump statement.
      if (!is_inside && never_raises && ends_handling(id)) {
        const BlockId target = landing(c, edge.to, scope);
        if (target.valid()) return target;
      }
      if (is_inside && seen.insert(edge.to).second) todo.push_back(edge.to);
    }
  }
  return {};
}

// The places that the statement of a region leads to and no jump statement can name.
class Unnamed {
 public:
  Unnamed(const PlanContext& c, HandlerId handler, const Scope& scope)
      : c_(c), handler_(handler), scope_(scope), exits_(exits_of(c, handler, scope)) {}

  std::vector<BlockId> of_with() {
    const BlockId follow = skip_markers(c_, c_.graph.handlers[handler_.index()].swallowed, scope_);
    for (const BlockId end : exits_) {
      if (end != follow) add(end);
    }
    return std::move(found_);
  }

  std::vector<BlockId> of_finally() {
    const BlockId follow = end_of_finally(c_, handler_, scope_);
    for (const BlockId end : exits_) {
      if (end != follow && !(follow.valid() && never_ends(c_.graph, end))) add(end);
    }
    if (!follow.valid() && found_.size() < 2) found_.clear();
    const BlockId left = left_by_finally(c_, handler_, scope_);
    if (left.valid() && (may_return(c_.graph, c_.module) || is_jump_target(left, scope_))) {
      add(left);
    } else if (left.valid()) {
      found_.push_back(left);
    }
    return std::move(found_);
  }

  std::vector<BlockId> of_clauses(const TryEnds& ends) {
    for (const BlockId end : exits_) {
      // Only a `return` that a `finally` body overtakes leads past an `else`.
      const bool is_overtaken = never_ends(c_.graph, end) && may_return(c_.graph, c_.module);
      const bool skips_else = ends.orelse.valid() && ends.orelse != ends.follow && !is_overtaken;
      const bool is_named =
          end == ends.follow ? !skips_else : end == ends.orelse && end != scope_.follow;
      if (!is_named) add(end);
    }
    for (const ClauseEnd& end : exits_of_clauses(c_, handler_, scope_)) {
      if (!end.is_left && end.to != ends.follow) add(end.to);
    }
    return std::move(found_);
  }

 private:
  void add(BlockId end) {
    if (is_jump_target(end, scope_) || only_returns(c_.graph, end)) return;
    if (is_overtaken_outside(c_, end, scope_)) return;
    if (std::find(found_.begin(), found_.end(), end) == found_.end()) found_.push_back(end);
  }

  const PlanContext& c_;
  const HandlerId handler_;
  const Scope& scope_;
  const std::vector<BlockId> exits_;
  std::vector<BlockId> found_;
};

std::vector<BlockId> unnamed_places(const PlanContext& c, HandlerId handler, const TryEnds& ends,
                                    const Scope& scope) {
  switch (c.graph.handlers[handler.index()].kind) {
    case HandlerKind::With:
      return Unnamed(c, handler, scope).of_with();
    case HandlerKind::Finally:
      return Unnamed(c, handler, scope).of_finally();
    case HandlerKind::Except:
      return Unnamed(c, handler, scope).of_clauses(ends);
    case HandlerKind::ExceptStar:
    case HandlerKind::Unknown:
    case HandlerKind::Dissolved:
      break;
  }
  return {};
}

}  // namespace

BlockId label_of(const PlanContext& c, HandlerId handler, const TryEnds& ends, const Scope& scope) {
  // The last one: the others may lead there.
  BlockId last;
  for (const BlockId end : unnamed_places(c, handler, ends, scope)) {
    if (!last.valid() || end == scope.follow) {
      last = end;
    } else if (last != scope.follow &&
               c.analysis.number[end.index()] > c.analysis.number[last.index()]) {
      last = end;
    }
  }
  for (const OpenLoop* loop = scope.loop; last.valid() && loop; loop = loop->outer) {
    // A `break` leads after the innermost loop only.
    if (loop->follow == last || loop->header == last) return {};
  }
  return last;
}

std::optional<uint8_t> never_comes_round(const PlanContext& c, BlockId block, const Scope& scope) {
  const Graph& graph = c.graph;
  if (!graph.f.marks_ends) return {};
  const uint8_t body = first_arm(graph[block]);
  const BlockId start = graph[block].next[body].to;
  const BlockId follow = skip_markers(c, graph[block].next[1 - body].to, scope);
  if (!graph[block].next[1 - body].args.empty() || is_jump_target(follow, scope)) return {};
  const auto known = c.left_for.find(follow);
  if (known == c.left_for.end()) return {};
  const bool breaks = std::any_of(known->second.begin(), known->second.end(),
                                  [&](BlockId from) { return c.analysis.dominates(start, from); });
  if (breaks) return body;
  return {};
}

}  // namespace pellucid::structure
