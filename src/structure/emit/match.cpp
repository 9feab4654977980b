// SPDX-License-Identifier: Apache-2.0
// `match` statements as nodes of the tree.
#include <algorithm>

#include "ast/nodes.h"
#include "base/check.h"
#include "structure/emit/emission.h"

namespace pellucid::structure {

using ast::ListId;
using ast::NodeId;

namespace {

// Writes a case that tests the subject of the cases before it.
NodeId next_case(Emission& e, BlockId block) {
  Statements test(e.values);
  test.run(e.graph[block].items);
  const NodeId node = test.take(e.graph[block].operands[0]);
  if (!test.list().empty() || !e.tree.is(node, ast::Kind::match_case)) {
    fail(e, "a case with statements in its guard", block);
  }
  return node;
}

// Returns true for `case _ if guard`. As the last case it would have no copy of the subject:
// another case followed it.
bool is_any_with_guard(const ast::Tree& tree, NodeId node) {
  const ast::match_case last = tree.as<ast::match_case>(node);
  if (!last.guard.valid() || !tree.is(last.pattern, ast::Kind::MatchAs)) return false;
  const ast::MatchAs pattern = tree.as<ast::MatchAs>(last.pattern);
  return !pattern.pattern.valid() && !pattern.name.valid();
}

std::vector<NodeId> arm(Emission& e, SuiteId suite) {
  Statements statements(e.values);
  emit(e, suite, statements);
  return statements.take_list();
}

// Adds the bodies to `cases`, which have their patterns and guards.
void add_bodies(Emission& e, const MatchPlan& plan, const std::vector<NodeId>& cases,
                ast::Where at) {
  for (size_t i = 0; i < cases.size(); ++i) {
    ast::match_case one = e.tree.as<ast::match_case>(cases[i]);
    if (plan.cases[i].body.valid()) {
      one.body = e.tree.list(arm(e, plan.cases[i].body));
    } else {
      one.guard = ast::constant_node(e.tree, object::ConstKind::False, at);
      one.body = e.tree.list({});
    }
    e.tree.set(cases[i], one);
  }
}

}  // namespace

void emit_match(Emission& e, const Action& action, NodeId first, Statements& out) {
  const MatchPlan& plan = e.plan.matches[action.index];
  const BlockId block = action.block;
  const ast::Where at = exit_where(e, block);
  if (out.hard_pending() > 0) fail(e, "a match statement inside an expression", block);
  PELLUCID_CHECK(e.tree.is(first, ast::Kind::match_case));
  const auto subject = e.values.subjects.find(first);
  if (subject == e.values.subjects.end()) {
    fail(e, "a case without its match statement", block);
  }
  const NodeId of = subject->second;
  std::vector<NodeId> cases{first};
  for (size_t i = 1; i < plan.cases.size(); ++i) cases.push_back(next_case(e, plan.cases[i].test));
  if (plan.is_in_circle) fail_as_planned(e);
  add_bodies(e, plan, cases, at);
  std::vector<NodeId> rest = arm(e, plan.rest);
  if (is_any_with_guard(e.tree, cases.back()) || (!rest.empty() && plan.bodies_fall)) {
    const NodeId any = e.tree.add(ast::MatchAs{}, at);
    cases.push_back(e.tree.add(ast::match_case{any, NodeId(), e.tree.list(rest)}, at));
    rest.clear();
  }
  const NodeId guard = e.tree.as<ast::match_case>(cases.back()).guard;
  if (guard.valid() && is_constant(e.tree, guard, object::ConstKind::True)) {
    // Adds a case that never matches: without it, this one would be the last.
    const NodeId nothing = none_node(e.tree, at);
    const NodeId never =
        e.tree.add(ast::MatchSingleton{e.tree.as<ast::Constant>(nothing).value}, at);
    const ListId body = e.tree.list({e.tree.add(ast::Pass{}, at)});
    cases.push_back(e.tree.add(ast::match_case{never, NodeId(), body}, at));
  }
  for (size_t i = 0; i + 1 < cases.size(); ++i) {
    const ast::match_case one = e.tree.as<ast::match_case>(cases[i]);
    if (!one.guard.valid() && takes_everything(e.tree, one.pattern)) {
      fail(e, "a case that makes those after it unreachable",
           i < plan.cases.size() ? plan.cases[i].test : block);
    }
  }
  out.append(e.tree.add(ast::Match{of, e.tree.list(cases)}, at));
  for (const NodeId statement : rest) out.append(statement);
}

}  // namespace pellucid::structure
