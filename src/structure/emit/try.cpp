// SPDX-License-Identifier: Apache-2.0
// `with`, `try`, and labels around them.
#include "ast/nodes.h"
#include "structure/emit/emission.h"
#include "structure/graph/items.h"

namespace pellucid::structure {

using ast::ListId;
using ast::NodeId;

namespace {

ListId clauses(Emission& e, const TryPlan& plan) {
  std::vector<NodeId> handlers;
  for (const ClausePlan& clause : plan.clauses) {
    const ir::Block& b = e.graph[clause.test];
    const ast::Where at{b.items.empty() ? b.exit_line : e.graph[b.items[0]].line, b.offset};
    if (clause.is_refused) fail_as_planned(e);
    if (b.exit == ExitKind::Branch) e.values.here = clause.test;
    NodeId type;
    if (clause.has_type) {
      Statements test(e.values);
      test.run(std::span<const ValueId>(b.items.data(), b.items.size() - 1));
      type = test.take(e.graph.f.operands(e.graph.resolve(b.operands[0]))[1]);
      if (!test.list().empty()) {
        fail(e, "an except clause with statements in its type", clause.test);
      }
    }
    Statements statements(e.values);
    emit(e, clause.body, statements);
    const Symbol name = statements.take_caught();
    if (name.valid() && !type.valid()) fail(e, "a bare except clause with a name", clause.test);
    const ListId body = e.tree.list(statements.take_list());
    handlers.push_back(e.tree.add(ast::ExceptHandler{type, name, body}, at));
  }
  return e.tree.list(handlers);
}

}  // namespace

void emit_with(Emission& e, const Action& action, Statements& out) {
  const TryPlan& plan = e.plan.tries[action.index];
  const ValueId exit = e.graph.handlers[plan.handler.index()].exit;
  out.settle();
  Statements statements(e.values);
  statements.begin_body(exit);
  emit(e, plan.body, statements);
  const ListId body = e.tree.list(statements.take_list());
  const auto manager = e.values.managers.find(exit);
  if (manager == e.values.managers.end()) {
    fail(e, "a with statement without a manager", action.block);
  }
  const NodeId target = e.values.targets[exit];
  e.values.targets.erase(exit);
  const ir::Value& before = e.graph[exit];
  const ast::Where at{before.line, before.offset};
  const NodeId item = e.tree.add(ast::withitem{manager->second, target}, at);
  const uint32_t is_async = before.op == Op::BeforeAsyncWith ? 1 : 0;
  out.append(e.tree.add(ast::With{e.tree.list({item}), body, is_async}, at));
}

void emit_finally(Emission& e, const Action& action, Statements& out) {
  const TryPlan& plan = e.plan.tries[action.index];
  out.settle();
  const ListId body = list(e, plan.body);
  const ast::Where at{first_line(e, body), e.graph[action.block].offset};
  ListId finalbody = list(e, plan.finalbody);
  // An empty list would mean that there is no `finally`.
  if (e.tree.items(finalbody).empty()) finalbody = e.tree.list({e.tree.add(ast::Pass{}, at)});
  out.append(e.tree.add(ast::Try{body, {}, {}, finalbody, 0}, at));
}

void emit_try(Emission& e, const Action& action, Statements& out) {
  const TryPlan& plan = e.plan.tries[action.index];
  const HandlerKind kind = e.graph.handlers[plan.handler.index()].kind;
  out.settle();
  const ListId body = list(e, plan.body);
  const ast::Where at{first_line(e, body), e.graph[action.block].offset};
  const ListId handlers = clauses(e, plan);
  const ListId orelse = list(e, plan.orelse);
  const uint32_t is_star = kind == HandlerKind::ExceptStar ? 1 : 0;
  out.append(e.tree.add(ast::Try{body, handlers, orelse, {}, is_star}, at));
}

void emit_label(Emission& e, const Action& action, Statements& out) {
  const LabelPlan& plan = e.plan.labels[action.index];
  const ast::Where at = exit_where(e, action.block);
  out.settle();
  Statements inner(e.values);
  emit(e, plan.body, inner);
  if (e.plan[plan.body].falls) inner.append(e.tree.add(ast::Break{}, at));
  const std::vector<NodeId> body = inner.take_list();
  const NodeId test = ast::constant_node(e.tree, object::ConstKind::True, at);
  out.append(e.tree.add(ast::While{test, e.tree.list(body), {}}, at));
}

}  // namespace pellucid::structure
