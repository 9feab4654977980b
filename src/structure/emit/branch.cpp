// SPDX-License-Identifier: Apache-2.0
// `if`, and a `while` without a back edge.
#include "ast/nodes.h"
#include "structure/emit/emission.h"
#include "structure/plan/evidence.h"
#include "structure/scopes/unfoldable.h"

namespace pellucid::structure {

using ast::ListId;
using ast::NodeId;

namespace {

// Returns true if an empty first arm was written: `if a: pass else: b`. The test falls through to
// the arm that comes first (compiler_if); that of `if not a: b` jumps to the end. Where lines tell
// statements apart, no jump has been turned.
bool keeps_empty_arm(const Emission& e, BlockId block, uint8_t edge, ListId orelse) {
  const auto items = e.tree.items(orelse);
  if (!e.graph.f.habits.tests_on_one_line || edge != first_arm(e.graph[block])) return false;
  return items.size() > 1 || (!items.empty() && e.assertions.count(items[0]) == 0);
}

NodeId if_statement(Emission& e, NodeId test, ListId body, ListId orelse, ast::Where at,
                    bool keeps_empty) {
  if (e.tree.items(body).empty() && !e.tree.items(orelse).empty() && !keeps_empty) {
    std::swap(body, orelse);
    test = negated(e.tree, test);
  }
  if (e.tree.items(body).size() == 1 && e.tree.items(orelse).empty()) {
    const NodeId only = e.tree.items(body)[0];
    const auto assertion = e.assertions.find(only);
    if (assertion != e.assertions.end()) {
      return e.tree.add(ast::Assert{opposite(e, test), assertion->second}, at);
    }
  }
  return e.tree.add(ast::If{tested_condition(e.tree, test), body, orelse}, at);
}

// Writes a `while` whose body ends in `break`.
void emit_once(Emission& e, const Action& action, NodeId test, Statements& out) {
  const BranchPlan& plan = e.plan.branches[action.index];
  const ast::Where at = exit_where(e, action.block);
  out.settle();
  Statements inner(e.values);
  inner.pass(e.graph[action.block].next[plan.edge]);
  emit(e, plan.body, inner);
  if (e.plan[plan.body].falls) inner.append(e.tree.add(ast::Break{}, at));
  if (plan.edge == 1) test = negated(e.tree, test);
  const ListId body = e.tree.list(inner.take_list());
  out.append(e.tree.add(ast::While{tested_condition(e.tree, test), body, {}}, at));
}

}  // namespace

void emit_branch(Emission& e, const Action& action, Statements& out) {
  const BlockId block = action.block;
  // Pending values were evaluated before the test.
  NodeId test = out.take(e.graph[block].operands[0]);
  if (action.kind == ActionKind::Match) return emit_match(e, action, test, out);
  if (out.hard_pending() > 0) out.spill_all();
  if (action.kind == ActionKind::Once) return emit_once(e, action, test, out);
  const BranchPlan& plan = e.plan.branches[action.index];
  const ast::Where at = exit_where(e, block);
  if (plan.edge == 1) test = opposite(e, test);
  if (plan.follow.valid()) out.settle();
  const auto arm = [&](uint8_t edge, SuiteId suite) {
    Statements statements(e.values);
    statements.adopt(out);
    e.values.here = block;
    statements.pass(e.graph[block].next[edge]);
    emit(e, suite, statements);
    statements.forget_adopted();
    return statements.take_list();
  };
  std::vector<NodeId> statements = arm(plan.edge, plan.body);
  if (plan.continues) statements.push_back(e.tree.add(ast::Continue{}));
  const ListId body = e.tree.list(statements);
  ListId orelse;
  if (plan.orelse.valid()) {
    orelse = e.tree.list(arm(static_cast<uint8_t>(1 - plan.edge), plan.orelse));
  }
  const bool keeps_empty = keeps_empty_arm(e, block, plan.edge, orelse);
  out.append(if_statement(e, test, body, orelse, at, keeps_empty));
}

}  // namespace pellucid::structure
