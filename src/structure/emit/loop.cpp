// SPDX-License-Identifier: Apache-2.0
// `for` and `while`.
#include "ast/nodes.h"
#include "structure/emit/emission.h"
#include "structure/scopes/unfoldable.h"

namespace pellucid::structure {

using ast::ListId;
using ast::NodeId;

namespace {

// Returns the target of a loop whose body has been read.
NodeId target_of(Emission& e, ValueId item, ast::Where at) {
  NodeId& target = e.values.targets[item];
  if (!target.valid()) {
    if (e.graph[item].uses == 0 || e.values.is_dropped(item)) {
      target = e.tree.add(ast::Name{e.values.name_of_nothing()}, at);
    } else {
      e.values.name_given(item, item);
    }
  }
  const NodeId made = target;
  e.values.targets.erase(item);
  return made;
}

}  // namespace

void emit_for(Emission& e, const Action& action, Statements& out) {
  const LoopPlan& plan = e.plan.loops[action.index];
  const ir::Block& header = e.graph[action.block];
  const ast::Where at = exit_where(e, action.block);
  const NodeId iterable = out.take(header.operands[0]);
  out.settle();
  const ValueId item = e.graph.resolve(header.operands[1]);
  e.values.targets[item] = {};
  Statements body(e.values);
  body.begin_body(item);
  emit(e, plan.body, body);
  const ListId statements = e.tree.list(body.take_list());
  const NodeId target = target_of(e, item, at);
  const ListId orelse = list(e, plan.orelse);
  const uint32_t is_async = e.graph[item].b == 1 ? 1 : 0;
  out.append(e.tree.add(ast::For{target, iterable, statements, orelse, is_async}, at));
}

void emit_while(Emission& e, const Action& action, Statements& out) {
  const LoopPlan& plan = e.plan.loops[action.index];
  const ir::Block& header = e.graph[action.block];
  ast::Where at = exit_where(e, action.block);
  out.settle();
  if (!plan.tests) {
    ast::Where start = at;
    start.offset = header.offset;
    const NodeId always = ast::constant_node(e.tree, object::ConstKind::True, start);
    const ListId body = list(e, plan.body);
    at.line = first_line(e, body);
    return out.append(e.tree.add(ast::While{always, body, {}}, at));
  }
  Statements header_only(e.values);
  header_only.run(header.items);
  NodeId test = header_only.take(header.operands[0]);
  if (!header_only.list().empty() || header_only.hard_pending() > 0) {
    fail(e, "a test that is more than one expression", action.block);
  }
  if (plan.stay == 1) test = opposite(e, test);
  test = tested_condition(e.tree, test);
  const ListId body = list(e, plan.body);
  const ListId orelse = list(e, plan.orelse);
  out.append(e.tree.add(ast::While{test, body, orelse}, at));
}

}  // namespace pellucid::structure
