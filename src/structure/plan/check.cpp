// SPDX-License-Identifier: Apache-2.0
#include "base/check.h"
#include "structure/graph/block_kinds.h"
#include "structure/graph/items.h"
#include "structure/plan/plan.h"

namespace pellucid::structure {

namespace {

class Checker {
 public:
  Checker(const Graph& graph, const Plan& plan)
      : graph_(graph), plan_(plan), seen_(plan.suites.size()), run_(graph.size()) {}

  void run() {
    suite(plan_.body, {});
    PELLUCID_CHECK(refusals_ == (plan_.refusal.why.empty() ? 0u : 1u));
    if (refusals_ > 0) return;  // what comes after it has no plan
    for (size_t i = 0; i < seen_.size(); ++i) PELLUCID_CHECK(seen_[i]);
    for (const BlockId id : graph_.order()) PELLUCID_CHECK(run_[id.index()] || is_implied(id));
  }

 private:
  struct Place {
    bool in_loop = false;
    bool has_header = false;  // the loop has one: a `continue` leads somewhere
    HandlerId handler;        // the innermost `try` or `with` around it
  };

  // Checks that a suite belongs to one statement, and that nothing follows a jump or its end.
  void suite(SuiteId id, const Place& place) {
    PELLUCID_CHECK(id.valid() && id.index() < seen_.size() && !seen_[id.index()]);
    seen_[id.index()] = true;
    const std::vector<Action>& actions = plan_[id].actions;
    for (size_t i = 0; i < actions.size(); ++i) {
      if (ends_suite(actions[i])) PELLUCID_CHECK(i + 1 == actions.size());
      action(actions[i], place);
    }
    if (actions.empty()) return;
    const ActionKind last = actions.back().kind;
    if (last == ActionKind::FallOff) PELLUCID_CHECK(plan_[id].falls);
    if (is_jump(last)) PELLUCID_CHECK(!plan_[id].falls);
  }

  static bool is_jump(ActionKind kind) {
    return kind == ActionKind::Break || kind == ActionKind::Continue || kind == ActionKind::Lost;
  }
  static bool ends_suite(const Action& action) {
    return is_jump(action.kind) || action.kind == ActionKind::FallOff ||
           action.kind == ActionKind::Refuse;
  }

  void action(const Action& action, const Place& place) {
    switch (action.kind) {
      case ActionKind::Run:
        return block(action.block, place);
      case ActionKind::Leave:
        PELLUCID_CHECK(exit(action) == ExitKind::Return || exit(action) == ExitKind::Raise);
        return;
      case ActionKind::Reraise:
        PELLUCID_CHECK(exit(action) == ExitKind::Reraise);
        return;
      case ActionKind::If:
      case ActionKind::Once:
        return branch(action, place);
      case ActionKind::Match:
        return match(plan_.matches.at(action.index), place);
      case ActionKind::For:
      case ActionKind::While:
        return loop(action, place);
      case ActionKind::Try:
      case ActionKind::Finally:
      case ActionKind::With:
        return protects(action.kind, plan_.tries.at(action.index), place);
      case ActionKind::Label:
        return suite(plan_.labels.at(action.index).body, {true, false, place.handler});
      case ActionKind::Break:
        PELLUCID_CHECK(place.in_loop);
        return;
      case ActionKind::Continue:
        PELLUCID_CHECK(place.has_header);
        return;
      case ActionKind::Lost:
        PELLUCID_CHECK(action.index < plan_.lost.size());
        return;
      case ActionKind::FallOff:
        return;
      case ActionKind::Refuse:
        ++refusals_;
        return;
    }
  }

  ExitKind exit(const Action& action) const { return graph_[action.block].exit; }

  // Checks that a block has the handler that it has in the graph, unless it cannot raise. The
  // header of a loop may be in a `try` that is in the loop.
  void block(BlockId id, const Place& place) {
    PELLUCID_CHECK(id.index() < run_.size());
    run_[id.index()] = true;
    const ir::Block& block = graph_[id];
    const bool never_ends = block.exit == ExitKind::Reraise && block.operands.empty();
    PELLUCID_CHECK(block.handler == place.handler || cannot_raise(graph_, id) || never_ends ||
                   block.exit == ExitKind::ForIter);
  }

  void branch(const Action& action, const Place& place) {
    const BranchPlan& branch = plan_.branches.at(action.index);
    PELLUCID_CHECK(exit(action) == ExitKind::Branch && branch.edge < 2);
    const bool is_once = action.kind == ActionKind::Once;
    suite(branch.body, is_once ? Place{true, false, place.handler} : place);
    if (branch.continues) PELLUCID_CHECK(place.has_header);
    if (branch.orelse.valid()) suite(branch.orelse, place);
  }

  void match(const MatchPlan& match, const Place& place) {
    PELLUCID_CHECK(!match.cases.empty());
    for (const CasePlan& each : match.cases) {
      PELLUCID_CHECK(graph_[each.test].exit == ExitKind::Branch);
      run_[each.test.index()] = true;
      if (each.body.valid()) suite(each.body, place);
    }
    if (match.rest.valid()) suite(match.rest, place);
  }

  void loop(const Action& action, const Place& place) {
    const LoopPlan& loop = plan_.loops.at(action.index);
    if (action.kind == ActionKind::For) PELLUCID_CHECK(exit(action) == ExitKind::ForIter);
    if (loop.tests) {
      PELLUCID_CHECK(exit(action) == ExitKind::Branch && loop.stay < 2);
      run_[action.block.index()] = true;
    }
    suite(loop.body, {true, true, place.handler});
    if (loop.orelse.valid()) suite(loop.orelse, place);
  }

  void protects(ActionKind kind, const TryPlan& plan, const Place& place) {
    PELLUCID_CHECK(plan.handler.index() < graph_.handlers.size());
    PELLUCID_CHECK(graph_.handlers[plan.handler.index()].outer == place.handler);
    suite(plan.body, {place.in_loop, place.has_header, plan.handler});
    for (const ClausePlan& clause : plan.clauses) {
      run_[clause.test.index()] = true;
      if (clause.is_refused) return;  // a Refuse comes next
      if (clause.body.valid()) suite(clause.body, place);
    }
    if (plan.orelse.valid()) suite(plan.orelse, place);
    if (plan.finalbody.valid()) {
      PELLUCID_CHECK(kind == ActionKind::Finally);
      suite(plan.finalbody, place);
    }
  }

  // Returns true if the block has no effect beyond that of its statement.
  bool is_implied(BlockId id) const {
    const ir::Block& block = graph_[id];
    return only_markers(graph_, block) || cannot_raise(graph_, id);
  }

  const Graph& graph_;
  const Plan& plan_;
  std::vector<bool> seen_, run_;
  size_t refusals_ = 0;
};

}  // namespace

void check(const Graph& graph, const Plan& plan) { Checker(graph, plan).run(); }

}  // namespace pellucid::structure
