// SPDX-License-Identifier: Apache-2.0
// Plans of branches: `if`, `match` and loops.
#include <unordered_set>

#include "structure/graph/block_kinds.h"
#include "structure/graph/items.h"
#include "structure/plan/escapes.h"
#include "structure/plan/evidence.h"
#include "structure/plan/jumps.h"
#include "structure/plan/planner_walk.h"

namespace pellucid::structure {

// Returns the merge point of the arms of a branch: a block that the branch dominates, with several
// ways into it.
BlockId Planner::meeting_point(BlockId block, const Scope& scope) const {
  BlockId best;
  for (const BlockId child : c_.analysis.children(block)) {
    size_t forward = 0;
    for (const Way way : graph_.ways_into(child)) {
      if (c_.analysis.number[way.from.index()] < c_.analysis.number[child.index()]) ++forward;
    }
    if (forward < 2 || !within(graph_, graph_[child].handler, scope.handler)) continue;
    const BlockId place = skip_markers(c_, child, scope);
    if (is_jump_target(child, scope) || is_jump_target(place, scope)) continue;
    // One of the ends of a clause, which lead there one by one: other arms may have their own.
    if (child != place && place == scope.follow) continue;
    if (only_returns(graph_, child) && best.valid()) continue;
    best = child;
  }
  return best;
}

// Returns true if the arm that is laid out first, and was planned last, ends in a `continue`
// statement.
bool Planner::ends_in_continue(BlockId block, uint8_t near, const Scope& scope) const {
  // A loop without a back edge has no header.
  if (!scope.loop || !scope.follow.valid() || scope.follow != scope.loop->header) return false;
  // Out of a region, `continue` compiles to other code than falling off the end.
  if (scope.handler != graph_[scope.loop->header].handler) return false;
  // The arm is nothing but a jump.
  if (graph_[block].next[near].to == scope.follow) return true;
  return from_.valid() && jumps_on_own_line(graph_, from_);
}

// Plans an `if`. Returns the block where the suite continues, or an invalid one: then `falls` is
// true if control falls through to the follow of the scope.
BlockId Planner::branch(BlockId block, const Scope& scope, bool& falls) {
  const ir::Block& b = graph_[block];
  if (decides_case(graph_, block)) {
    const BlockId next = match(block, scope, falls);
    from_ = {};
    return next;
  }
  if (const auto edge = never_comes_round(c_, block, scope)) return once(block, *edge, scope);
  const uint8_t near = first_arm(b);
  const ir::Edge& other = b.next[1 - near];
  const BlockId else_block = other.to;
  const BlockId meet = meeting_point(block, scope);
  Scope inner = scope;
  if (meet.valid()) inner.follow = meet;
  const size_t index = plan_.branches.size();
  plan_.branches.push_back({near, meet, SuiteId(plan_.suites.size()), {}, false});
  add(ActionKind::If, block, index);
  bool then_falls = plan_[suite(b.next[near].to, inner)].falls;
  const BlockId last = then_falls ? from_ : BlockId();
  if (then_falls && else_block != inner.follow && ends_in_continue(block, near, inner)) {
    plan_.branches[index].continues = true;
    then_falls = false;
  }
  // The rest needs no `else`.
  if (!then_falls && else_block != inner.follow && other.args.empty()) return else_block;
  plan_.branches[index].orelse = SuiteId(plan_.suites.size());
  const bool else_falls = plan_[suite(else_block, inner)].falls;
  // A `continue` after an `if` without `else` is the jump at the end of its arm.
  from_ = else_block == inner.follow ? last : BlockId();
  falls = then_falls || else_falls;
  if (meet.valid() && falls) return meet;
  return {};
}

BlockId Planner::once(BlockId block, uint8_t edge, const Scope& scope) {
  const BlockId follow = graph_[block].next[1 - edge].to;
  const size_t index = plan_.branches.size();
  plan_.branches.push_back({edge, follow, SuiteId(plan_.suites.size()), {}, false});
  add(ActionKind::Once, block, index);
  const OpenLoop loop{{}, follow, scope.loop};
  suite(graph_[block].next[edge].to, {follow, &loop, scope.handler, scope.handled});
  return follow;
}

// Plans a case and those after it. Their merge point is that of the first case that has one.
BlockId Planner::match(BlockId block, const Scope& scope, bool& falls) {
  std::vector<BlockId> tests{block};
  for (BlockId next = graph_[block].next[1].to;
       is_next_case(graph_, next) && tests.size() <= graph_.size();
       next = graph_[next].next[1].to) {
    tests.push_back(next);
  }
  const size_t index = plan_.matches.size();
  plan_.matches.emplace_back();
  add(ActionKind::Match, block, index);
  for (const BlockId test : tests) {
    if (budget_-- == 0) refuse("control flow that needs too much repetition", block);
    plan_.matches[index].cases.push_back({test, {}});
  }
  if (tests.size() > graph_.size()) {
    plan_.matches[index].is_in_circle = true;
    refuse("cases that go round in a circle", block);
  }
  BlockId meet;
  const std::unordered_set<BlockId> are_tests(tests.begin(), tests.end());
  for (const BlockId test : tests) {
    const BlockId point = meeting_point(test, scope);
    // The body of a case whose guard is constant and false is the next case.
    if (!point.valid() || are_tests.contains(point)) continue;
    if (!meet.valid() || only_returns(graph_, meet)) meet = point;
  }
  plan_.matches[index].follow = meet;
  Scope inner = scope;
  if (meet.valid()) inner.follow = meet;
  bool bodies_fall = false;
  for (size_t i = 0; i < tests.size(); ++i) {
    const ir::Block& b = graph_[tests[i]];
    // The guard was constant, and the body was removed.
    if (i + 1 < tests.size() && b.next[0].to == b.next[1].to) continue;
    plan_.matches[index].cases[i].body = SuiteId(plan_.suites.size());
    if (plan_[suite(b.next[0].to, inner)].falls) bodies_fall = true;
  }
  plan_.matches[index].bodies_fall = bodies_fall;
  // The end of the body may have been copied to the failing edge of the last case.
  const BlockId none = graph_[tests.back()].next[1].to;
  const bool ends = none.valid() && meet.valid() && same_return(graph_, none, meet);
  plan_.matches[index].rest = SuiteId(plan_.suites.size());
  const bool rest_falls = plan_[suite(ends ? meet : none, inner)].falls;
  falls = bodies_fall || rest_falls;
  if (meet.valid() && falls) return meet;
  return {};
}

// Plans a `for` loop. Returns its follow: the target of its breaks, else of exhaustion.
BlockId Planner::for_loop(BlockId block, const Scope& scope) {
  const ir::Block& b = graph_[block];
  if (!b.items.empty() && loop_at(c_, block)) refuse("a for loop with work in its header", block);
  if (!b.next[0].args.empty() || !b.next[1].args.empty()) {
    refuse("a for loop that leaves values on the stack", block);
  }
  add(ActionKind::Run, block);
  if (changes_in_loop(c_, block, graph_.resolve(b.operands[0]))) {
    refuse("a for loop that continues with another iterator", block);
  }
  const BlockId exhausted = skip_markers(c_, b.next[1].to, scope);
  const BlockId follow = follow_of_for(c_, block, scope);
  const size_t index = plan_.loops.size();
  plan_.loops.push_back({follow, false, 0, SuiteId(plan_.suites.size()), {}});
  add(ActionKind::For, block, index);
  const OpenLoop loop{block, follow, scope.loop};
  // Inside, each arm falls through to the header.
  suite(b.next[0].to, {block, &loop, scope.handler, scope.handled});
  if (follow != exhausted) {
    plan_.loops[index].orelse = SuiteId(plan_.suites.size());
    suite(exhausted, {follow, scope.loop, scope.handler, scope.handled});
  }
  return follow;
}

BlockId Planner::while_loop(BlockId block, const Scope& scope) {
  const Loop& loop = *loop_at(c_, block);
  const ir::Block& b = graph_[block];
  const std::optional<uint8_t> stay = stay_edge(c_, loop, is_one_expression_);
  const BlockId exhausted = stay ? skip_markers(c_, b.next[1 - *stay].to, scope) : BlockId();
  const BlockId follow = follow_of_while(c_, loop, exhausted, scope);
  const size_t index = plan_.loops.size();
  plan_.loops.push_back(
      {follow, stay.has_value(), stay.value_or(0), SuiteId(plan_.suites.size()), {}});
  add(ActionKind::While, block, index);
  const OpenLoop open{block, follow, scope.loop};
  const Scope inner{block, &open, scope.handler, scope.handled};
  if (!stay) {
    endless(block, inner);
  } else {
    suite(b.next[*stay].to, inner);
    if (follow != exhausted) {
      plan_.loops[index].orelse = SuiteId(plan_.suites.size());
      suite(exhausted, {follow, scope.loop, scope.handler, scope.handled});
    }
  }
  return follow;
}

// Plans the suite of a `while True:`, which starts with the items of the header.
void Planner::endless(BlockId block, const Scope& scope) {
  const ir::Block& b = graph_[block];
  const SuiteId outer = here_;
  const SuiteId made = here_ = new_suite();
  // What is protected there would begin with the jump back to it.
  if (b.handler != scope.handler && within(graph_, b.handler, scope.handler)) {
    refuse("a loop that starts within a region", block);
  }
  add(ActionKind::Run, block);
  bool falls = false;
  BlockId next;
  if (b.exit == ExitKind::Branch) {
    next = branch(block, scope, falls);
  } else if (b.exit == ExitKind::Goto) {
    next = b.next[0].to;
  } else {
    refuse("a loop of unknown form", block);
  }
  if (next.valid()) falls = follow(next, scope);
  plan_[made].falls = falls;
  here_ = outer;
}

}  // namespace pellucid::structure
