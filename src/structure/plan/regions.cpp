// SPDX-License-Identifier: Apache-2.0
// Plans of protected regions: with, try/finally, try/except, and labels around them.
#include "structure/graph/block_kinds.h"
#include "structure/graph/items.h"
#include "structure/plan/escapes.h"
#include "structure/plan/jumps.h"
#include "structure/plan/planner_walk.h"

namespace pellucid::structure {

// Each statement is added to its suite before its own suites are filled, so that a refusal in them
// can be reached. All return the follow of the statement.
BlockId Planner::region(HandlerId handler, BlockId block, const Scope& scope) {
  const HandlerKind kind = graph_.handlers[handler.index()].kind;
  TryEnds ends;
  if (kind == HandlerKind::Except) ends = ends_of_try(c_, handler, scope);
  if (const BlockId place = label_of(c_, handler, ends, scope); place.valid()) {
    return label(block, place, scope);
  }
  switch (kind) {
    case HandlerKind::With:
      return with_statement(handler, block, scope);
    case HandlerKind::Finally:
      return try_finally(handler, block, scope);
    case HandlerKind::ExceptStar:
      ends = ends_of_star(c_, handler, scope);
      [[fallthrough]];
    case HandlerKind::Except:
      return try_except(handler, ends, block, scope);
    case HandlerKind::Unknown:
    case HandlerKind::Dissolved:
      break;
  }
  refuse("a protected region of unknown form", block);
}

BlockId Planner::label(BlockId block, BlockId follow, const Scope& scope) {
  const size_t index = plan_.labels.size();
  plan_.labels.push_back({follow, SuiteId(plan_.suites.size())});
  add(ActionKind::Label, block, index);
  const OpenLoop loop{{}, follow, scope.loop};
  suite(block, {follow, &loop, scope.handler, scope.handled});
  return follow;
}

BlockId Planner::with_statement(HandlerId handler, BlockId block, const Scope& scope) {
  const BlockId follow = skip_markers(c_, graph_.handlers[handler.index()].swallowed, scope);
  const size_t index = plan_.tries.size();
  plan_.tries.push_back({handler, follow, SuiteId(plan_.suites.size()), {}, {}, {}});
  add(ActionKind::With, block, index);
  suite(block, {follow, scope.loop, handler, scope.handled});
  return follow;
}

BlockId Planner::try_finally(HandlerId handler, BlockId block, const Scope& scope) {
  BlockId follow = follow_of_finally(c_, handler, scope);
  const size_t index = plan_.tries.size();
  plan_.tries.push_back({handler, follow, SuiteId(plan_.suites.size()), {}, {}, {}});
  add(ActionKind::Finally, block, index);
  if (follow == block) refuse_in_suite("a try statement that continues at its own start", block);
  // Nothing follows a `finally` body that never ends.
  if (follow.valid() && never_ends(graph_, follow)) follow = plan_.tries[index].follow = {};
  suite(block, {follow, scope.loop, handler, scope.handled});
  const BlockId end = graph_.handlers[handler.index()].end;
  plan_.tries[index].finalbody = SuiteId(plan_.suites.size());
  suite(graph_.f.handlers[handler.index()].entry,
        {end, scope.loop, scope.handler, scope.handled + 1});
  return follow;
}

BlockId Planner::try_except(HandlerId handler, const TryEnds& ends, BlockId block,
                            const Scope& scope) {
  const bool is_star = graph_.handlers[handler.index()].kind == HandlerKind::ExceptStar;
  const auto [follow, orelse] = ends;
  BlockId body_follow = orelse.valid() ? orelse : follow;
  if (is_star && follow.valid() && !orelse.valid()) {
    // The body may end in a copy of the code after the statement.
    for (const BlockId end : exits_of(c_, handler, scope)) {
      if (same_return(graph_, end, follow)) body_follow = end;
    }
  }
  const size_t index = plan_.tries.size();
  plan_.tries.push_back({handler, follow, SuiteId(plan_.suites.size()), {}, {}, {}});
  add(ActionKind::Try, block, index);
  if (body_follow == block)
    refuse_in_suite("a try statement that continues at its own start", block);
  suite(block, {body_follow, scope.loop, handler, scope.handled});
  clauses(index, {follow, scope.loop, scope.handler, scope.handled + 1});
  if (orelse.valid()) {
    plan_.tries[index].orelse = SuiteId(plan_.suites.size());
    suite(orelse, {follow, scope.loop, scope.handler, scope.handled});
  }
  return follow;
}

void Planner::clauses(size_t index, const Scope& scope) {
  const HandlerId handler = plan_.tries[index].handler;
  BlockId block = graph_.f.handlers[handler.index()].entry;
  while (block.valid()) {
    const ir::Block& b = graph_[block];
    if (b.exit == ExitKind::Reraise && only_markers(graph_, b)) break;
    ClausePlan clause{block, false, true, {}};
    BlockId body = block;
    BlockId next;
    plan_.tries[index].clauses.push_back(clause);
    if (b.exit == ExitKind::Branch) {
      check_handled(block, scope);
      if (is_op(graph_[graph_.resolve(b.operands[0])], Op::ExcMatch)) {
        clause.has_type = true;
        body = b.next[0].to;
        next = b.next[1].to;
      }
    }
    clause.is_refused = false;
    clause.body = SuiteId(plan_.suites.size());
    plan_.tries[index].clauses.back() = clause;
    suite(body, scope);
    block = next;
  }
}

}  // namespace pellucid::structure
