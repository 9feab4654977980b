// SPDX-License-Identifier: Apache-2.0
#include "structure/emit/emitter.h"

#include <algorithm>

#include "ast/nodes.h"
#include "base/check.h"
#include "structure/emit/emission.h"
#include "structure/graph/not_structured.h"

namespace pellucid::structure {

using ast::ListId;
using ast::NodeId;

namespace {

// Returns the line and offset of the jump that ends a block, if there is one.
ast::Where jump_where(const Emission& e, BlockId from) {
  const bool is_known = from.valid() && e.graph[from].exit_line >= 0;
  return is_known ? exit_where(e, from) : ast::Where();
}

void run_block(Emission& e, BlockId block, Statements& out) {
  out.run(e.graph[block].items);
  if (e.graph[block].exit == ExitKind::Goto) out.pass(e.graph[block].next[0]);
}

void emit_action(Emission& e, const Action& action, Statements& out) {
  switch (action.kind) {
    case ActionKind::Run:
      return run_block(e, action.block, out);
    case ActionKind::Leave:
      return emit_leave(e, action.block, out);
    case ActionKind::Reraise:
      return check_reraise(e, action.block);
    case ActionKind::If:
    case ActionKind::Once:
    case ActionKind::Match:
      emit_branch(e, action, out);
      e.values.here = {};
      return;
    case ActionKind::For:
      return emit_for(e, action, out);
    case ActionKind::While:
      return emit_while(e, action, out);
    case ActionKind::Try:
      return emit_try(e, action, out);
    case ActionKind::Finally:
      return emit_finally(e, action, out);
    case ActionKind::With:
      return emit_with(e, action, out);
    case ActionKind::Label:
      return emit_label(e, action, out);
    case ActionKind::Break:
      return out.append(e.tree.add(ast::Break{}, jump_where(e, action.block)));
    case ActionKind::Continue:
      return out.append(e.tree.add(ast::Continue{}, jump_where(e, action.block)));
    case ActionKind::Lost:
      return emit_lost(e, e.plan.lost[action.index], out);
    case ActionKind::FallOff:
      return out.settle(true);
    case ActionKind::Refuse:
      fail_as_planned(e);
  }
}

// Returns true if the action starts to write a block.
bool starts_block(ActionKind kind) {
  switch (kind) {
    case ActionKind::Run:
    case ActionKind::While:
    case ActionKind::Try:
    case ActionKind::Finally:
    case ActionKind::With:
    case ActionKind::Label:
      return true;
    default:
      return false;
  }
}

}  // namespace

void emit(Emission& e, SuiteId suite, Statements& out) {
  for (const Action& action : e.plan[suite].actions) {
    if (starts_block(action.kind)) e.values.here = action.block;
    emit_action(e, action, out);
  }
}

ListId list(Emission& e, SuiteId suite) {
  if (!suite.valid()) return {};
  Statements out(e.values);
  emit(e, suite, out);
  return e.tree.list(out.take_list());
}

void fail(const Emission& e, const char* what, BlockId block) {
  const ir::Block& b = e.graph[block];
  throw NotStructured(what, b.items.empty() ? b.exit_offset : e.graph[b.items[0]].offset);
}

void fail_as_planned(const Emission& e) {
  throw NotStructured(e.plan.refusal.why, e.plan.refusal.offset);
}

ast::Where exit_where(const Emission& e, BlockId block) {
  return {e.graph[block].exit_line, e.graph[block].exit_offset};
}

ast::NodeId opposite(Emission& e, ast::NodeId test) {
  return negated(e.tree, test, !e.graph.f.habits.gives_columns);
}

int32_t first_line(const Emission& e, ListId body) {
  const auto items = e.tree.items(body);
  return items.empty() ? bytecode::kNoLine : e.tree.where(items[0]).line;
}

ListId emit(FunctionContext& context, const Plan& plan) {
  Emission e{context, context.graph, context.tree, plan};
  return list(e, plan.body);
}

}  // namespace pellucid::structure
