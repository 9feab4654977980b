// SPDX-License-Identifier: Apache-2.0
// Labels: places after a `try` or `with` that no statement could name.
//
// A region may be left to several places that are code of their own: threaded jumps, or a `break`
// out of a loop that never comes round. `while True:` around a statement and what follows it, with
// a `break` at its end, compiles to no instruction; inside it, `break` leads after it.
#include <algorithm>
#include <unordered_set>

#include "ast/nodes.h"
#include "structure/emit/emitter.h"
#include "structure/graph/items.h"
#include "structure/scopes/dead_code.h"
#include "structure/scopes/unfoldable.h"

namespace pellucid::structure {

// The place that has to be named so that the region can be written; invalid if none has.
BlockId Emitter::label_of(HandlerId handler, const Scope& scope) const {
  const std::vector<BlockId> ends = exits_of(handler, scope);
  std::vector<BlockId> unnamed;
  const auto add = [&](BlockId end) {
    if (is_jump_target(end, scope) || only_returns(end)) return;
    if (is_overtaken_outside(end, scope)) return;
    if (std::find(unnamed.begin(), unnamed.end(), end) == unnamed.end()) unnamed.push_back(end);
  };
  switch (graph_.handlers[handler.index()].kind) {
    case HandlerKind::With: {
      const BlockId follow = skip_markers(graph_.handlers[handler.index()].swallowed, scope);
      for (const BlockId end : ends) {
        if (end != follow) add(end);
      }
      break;
    }
    case HandlerKind::Finally: {
      const BlockId follow = end_of_finally(handler, scope);
      for (const BlockId end : ends) {
        if (end != follow && !(follow.valid() && never_ends(end))) add(end);
      }
      if (!follow.valid() && unnamed.size() < 2) unnamed.clear();
      const BlockId left = left_by_finally(handler, scope);
      if (left.valid() && (may_return() || is_jump_target(left, scope))) {
        add(left);
      } else if (left.valid()) {
        unnamed.push_back(left);
      }
      break;
    }
    case HandlerKind::Except: {
      const TryEnds found = ends_of_try(handler, scope);
      for (const BlockId end : ends) {
        // Nothing but a `return` that a finally body overtakes leads past an `else`.
        const bool skips_else = found.orelse.valid() && found.orelse != found.follow &&
                                !(never_ends(end) && may_return());
        const bool is_named =
            end == found.follow ? !skips_else : end == found.orelse && end != scope.follow;
        if (!is_named) add(end);
      }
      for (const ClauseEnd& end : exits_of_clauses(handler, scope)) {
        if (!end.is_left && end.to != found.follow) add(end.to);
      }
      break;
    }
    case HandlerKind::ExceptStar:
    case HandlerKind::Unknown:
    case HandlerKind::Dissolved:
      return {};
  }
  // The last one: the others may lead there.
  BlockId last;
  for (const BlockId end : unnamed) {
    if (!last.valid() || end == scope.follow) {
      last = end;
    } else if (last != scope.follow &&
               analysis_.number[end.index()] > analysis_.number[last.index()]) {
      last = end;
    }
  }
  for (const OpenLoop* loop = scope.loop; last.valid() && loop; loop = loop->outer) {
    // A `break` leads after the innermost loop only.
    if (loop->follow == last || loop->header == last) return {};
  }
  return last;
}

// Where a jump statement in the finally body leads to, if that is code after the region: out of a
// loop that never comes round, as there is no other way into that code. Invalid: there is none.
BlockId Emitter::left_by_finally(HandlerId handler, const Scope& scope) const {
  const BlockId entry = graph_.f.handlers[handler.index()].entry;
  const uint32_t outside = graph_[entry].exc_depth - 1;
  const bool never_raises = !graph_.f.marks_ends && !graph_.handlers[handler.index()].end.valid();
  const auto ends_handling = [&](BlockId id) {
    const auto& items = graph_[id].items;
    return !items.empty() && is_op(graph_[items.back()], Op::PopExcept);
  };
  std::unordered_set<BlockId> seen{entry};
  std::vector<BlockId> todo{entry};
  while (!todo.empty()) {
    const BlockId id = todo.back();
    todo.pop_back();
    const ir::Block& block = graph_[id];
    if (left_by_jump(id) && block.exit == ExitKind::Goto) {
      // A loop of its own may be left so as well.
      const BlockId target = landing(block.next[0].to, scope);
      if (target.valid() && graph_.exceptions_at(target, 0) <= outside) return target;
    }
    for (const ir::Edge& edge : block.next) {
      if (!edge.to.valid()) continue;
      const bool is_inside = graph_[edge.to].exc_depth > outside || left_by_jump(edge.to);
      // Without marks (3.9+), where nothing is raised again it is a jump statement.
      if (!is_inside && never_raises && ends_handling(id)) {
        const BlockId target = landing(edge.to, scope);
        if (target.valid()) return target;
      }
      if (is_inside && seen.insert(edge.to).second) todo.push_back(edge.to);
    }
  }
  return {};
}

BlockId Emitter::labelled(BlockId block, BlockId label, const Scope& scope, Statements& out) {
  const OpenLoop loop{{}, label, scope.loop};
  Statements inner(context_);
  const bool falls = emit(block, {label, &loop, scope.handler, scope.handled}, inner);
  const ast::Where at = exit_where(block);
  if (falls) inner.append(tree_.add(ast::Break{}, at));
  const std::vector<ast::NodeId> body = inner.take_list();
  const ast::NodeId test = constant(object::ConstKind::True, at);
  out.append(tree_.add(ast::While{test, tree_.list(body), {}}, at));
  return label;
}

// The edge into the body of a `while` that never comes round: a `break` in it has left a region,
// where the other edge leads as well. Nothing: the branch is an `if`.
std::optional<uint8_t> Emitter::never_comes_round(BlockId block, const Scope& scope) const {
  if (!graph_.f.marks_ends) return {};
  const uint8_t body = 1 - graph_[block].jump;
  const BlockId start = graph_[block].next[body].to;
  const BlockId follow = skip_markers(graph_[block].next[1 - body].to, scope);
  if (!graph_[block].next[1 - body].args.empty() || is_jump_target(follow, scope)) return {};
  const auto known = left_for_.find(follow);
  if (known == left_for_.end()) return {};
  const bool breaks = std::any_of(known->second.begin(), known->second.end(),
                                  [&](BlockId from) { return analysis_.dominates(start, from); });
  if (breaks) return body;
  return {};
}

BlockId Emitter::once(BlockId block, uint8_t edge, ast::NodeId test, const Scope& scope,
                      Statements& out) {
  const ast::Where at = exit_where(block);
  out.settle();
  Statements inner(context_);
  inner.pass(graph_[block].next[edge]);
  if (emit(graph_[block].next[edge].to, scope, inner)) inner.append(tree_.add(ast::Break{}, at));
  if (edge == 1) test = negated(tree_, test);
  const ast::ListId body = tree_.list(inner.take_list());
  out.append(tree_.add(ast::While{tested_condition(tree_, test), body, {}}, at));
  return graph_[block].next[1 - edge].to;
}

}  // namespace pellucid::structure
