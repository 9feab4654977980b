// SPDX-License-Identifier: Apache-2.0
#include "structure/plan/plan.h"

namespace pellucid::structure {

namespace {

class Text {
 public:
  Text(const Graph& graph, const Plan& plan) : graph_(graph), plan_(plan) {}

  std::string run() {
    suite(plan_.body, 0);
    return std::move(out_);
  }

 private:
  static std::string name(BlockId id) { return id.valid() ? "b" + std::to_string(id.value) : "-"; }

  void line(size_t depth, const std::string& text) {
    out_ += std::string(2 * depth, ' ') + text + '\n';
  }

  // Writes the line of a statement, which ends with its follow.
  void line(size_t depth, const std::string& text, BlockId follow) {
    line(depth, text + (follow.valid() ? ", then " + name(follow) : ", then nothing"));
  }

  void suite(SuiteId id, size_t depth) {
    const Suite& suite = plan_[id];
    for (const Action& each : suite.actions) action(each, depth);
    if (suite.actions.empty()) line(depth, "nothing");
    if (suite.falls && !ends_in_fall(suite)) line(depth, "falls off");
  }

  static bool ends_in_fall(const Suite& suite) {
    return !suite.actions.empty() && suite.actions.back().kind == ActionKind::FallOff;
  }

  void action(const Action& action, size_t depth) {
    const std::string block = name(action.block);
    switch (action.kind) {
      case ActionKind::Run:
        return line(depth, "run " + block);
      case ActionKind::Leave:
        return line(depth, std::string(ir::name_of(graph_[action.block].exit)) + ' ' + block);
      case ActionKind::Reraise:
        return line(depth, "reraise " + block);
      case ActionKind::If:
        return branch(action, "if ", depth);
      case ActionKind::Once:
        return branch(action, "once ", depth);
      case ActionKind::Match:
        return match(plan_.matches[action.index], depth);
      case ActionKind::For:
      case ActionKind::While:
        return loop(action, depth);
      case ActionKind::Try:
      case ActionKind::Finally:
        return try_statement(action, depth);
      case ActionKind::With:
        return with(plan_.tries[action.index], depth);
      case ActionKind::Label: {
        const LabelPlan& label = plan_.labels[action.index];
        line(depth, "label", label.follow);
        return suite(label.body, depth + 1);
      }
      case ActionKind::Break:
        return line(depth, action.block.valid() ? "break after " + block : "break");
      case ActionKind::Continue:
        return line(depth, action.block.valid() ? "continue after " + block : "continue");
      case ActionKind::Lost:
        return lost(plan_.lost[action.index], depth);
      case ActionKind::FallOff:
        return line(depth, "fall off");
      case ActionKind::Refuse:
        return line(depth, "refuse: " + plan_.refusal.why);
    }
  }

  void branch(const Action& action, const std::string& word, size_t depth) {
    const BranchPlan& branch = plan_.branches[action.index];
    const std::string negated = branch.edge == 1 ? "not " : "";
    line(depth, word + negated + name(action.block), branch.follow);
    suite(branch.body, depth + 1);
    if (branch.continues) line(depth + 1, "continue");
    if (!branch.orelse.valid()) return;
    line(depth, "else");
    suite(branch.orelse, depth + 1);
  }

  void match(const MatchPlan& match, size_t depth) {
    line(depth, "match", match.follow);
    for (const CasePlan& each : match.cases) {
      line(depth, "case " + name(each.test));
      if (each.body.valid()) suite(each.body, depth + 1);
    }
    if (!match.rest.valid() || plan_[match.rest].actions.empty()) return;
    line(depth, "rest");
    suite(match.rest, depth + 1);
  }

  void loop(const Action& action, size_t depth) {
    const LoopPlan& loop = plan_.loops[action.index];
    const bool is_endless = action.kind == ActionKind::While && !loop.tests;
    const std::string word = action.kind == ActionKind::For ? "for "
                             : is_endless                   ? "while True "
                             : loop.stay == 1               ? "while not "
                                                            : "while ";
    line(depth, word + name(action.block), loop.follow);
    suite(loop.body, depth + 1);
    if (!loop.orelse.valid()) return;
    line(depth, "else");
    suite(loop.orelse, depth + 1);
  }

  void try_statement(const Action& action, size_t depth) {
    const TryPlan& plan = plan_.tries[action.index];
    line(depth, "try h" + std::to_string(plan.handler.value), plan.follow);
    suite(plan.body, depth + 1);
    const bool is_star = graph_.handlers[plan.handler.index()].kind == HandlerKind::ExceptStar;
    for (const ClausePlan& clause : plan.clauses) {
      const std::string word = is_star ? "except* " : "except ";
      line(depth, word + name(clause.test) + (clause.has_type ? "" : ", of any type"));
      if (clause.body.valid()) suite(clause.body, depth + 1);
      if (clause.is_refused) line(depth + 1, "refuse: " + plan_.refusal.why);
    }
    if (plan.orelse.valid()) {
      line(depth, "else");
      suite(plan.orelse, depth + 1);
    }
    if (!plan.finalbody.valid()) return;
    line(depth, "finally");
    suite(plan.finalbody, depth + 1);
  }

  void with(const TryPlan& plan, size_t depth) {
    line(depth, "with h" + std::to_string(plan.handler.value), plan.follow);
    suite(plan.body, depth + 1);
  }

  void lost(const LostPlan& lost, size_t depth) {
    switch (lost.jump) {
      case LostJump::Break:
        return line(depth, "break, which is lost");
      case LostJump::Continue:
        return line(depth, "continue, which is lost");
      case LostJump::Return:
        return line(depth, "return, which is lost");
    }
  }

  const Graph& graph_;
  const Plan& plan_;
  std::string out_;
};

}  // namespace

std::string dump(const Graph& graph, const Plan& plan) { return Text(graph, plan).run(); }

}  // namespace pellucid::structure
