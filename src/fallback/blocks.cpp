// SPDX-License-Identifier: Apache-2.0
// The end of a block: sets the slots that it changes, then the next state.
#include <algorithm>

#include "ast/nodes.h"
#include "fallback/state_machine.h"
#include "structure/graph/not_structured.h"

namespace pellucid::fallback {

using ast::CmpOperator;
using ast::NodeId;

// Writes the block and those that only it leads to.
void Machine::block(BlockId id, Nodes& out) {
  while (id.valid()) {
    const ir::Block& b = graph_[id];
    const ast::Where before = make_.at;
    make_.at = {b.items.empty() ? b.exit_line : graph_[b.items[0]].line, b.offset};
    check_uses(id);
    const Nodes statements = statements_of(id);
    out.insert(out.end(), statements.begin(), statements.end());
    BlockId next;
    if (b.exit == ExitKind::Goto) {
      next = b.next[0].to;
      const bool pushes = !b.items.empty() && is_op(graph_[b.items.back()], Op::PushExcInfo);
      if (pushes) {
        set_state(pushed_by_[id.index()], out);
        next = {};
      } else if (ends_in_split(id)) {
        handle_match(id, out);
        next = {};
      } else if (!is_inlined(next)) {
        go(next, b.exc_depth, out);
        next = {};
      }
    }
    make_.at = before;
    id = next;
  }
}

Machine::Nodes Machine::statements_of(BlockId id) {
  // A failed attempt may have rewritten the bodies that it read as expressions.
  std::vector<std::pair<size_t, ast::ListId>> saved;
  for (const ValueId item : graph_[id].items) {
    if (!is_op(graph_[item], Op::LoadConst)) continue;
    const object::Const& constant = tree_.module()[graph_[item].constant()];
    if (constant.kind != object::ConstKind::Code) continue;
    const size_t index = constant.code.index();
    const bool is_hidden = tree_.text(tree_.module()[constant.code].name).starts_with('<');
    if (is_hidden && bodies_[index].valid()) {
      saved.push_back({index, ast::clone(tree_, bodies_[index])});
    }
  }
  try {
    Statements code(context_);
    items(id, code);
    leave(id, code);
    return code.take_list();
  } catch (const NotStructured&) {
    // The neat form is not possible.
  }
  for (const auto& [index, body] : saved) bodies_.replace(index, body);
  try {
    Statements code(context_);
    plain(id, code);
    leave(id, code);
    return code.take_list();
  } catch (const NotStructured& reason) {
    throw NoBody(reason.what(), reason.offset);
  }
}

// Refuses the use of a value that is not the same on all ways.
void Machine::check_uses(BlockId id) const {
  const auto look = [&](ValueId value) {
    if (slots_.of(value).kind == SlotKind::Mixed) {
      fail("a slot of the stack that holds a NULL on some ways only", id);
    }
  };
  for (const ValueId item : graph_[id].items) {
    if (is_op(graph_[item], Op::Pop)) continue;
    for (const ValueId operand : operands(item)) look(operand);
  }
  for (const ValueId operand : graph_[id].operands) look(operand);
}

// Returns the variable of the slot in which every way leaves a value of this block, if it may be
// set right away: no pending expression reads it, and no handler keeps the slot.
Symbol Machine::home(BlockId id, ValueId value) {
  const ir::Block& b = graph_[id];
  const size_t kept = b.handler.valid() ? graph_.f.handlers[b.handler.index()].depth : size_t{0};
  size_t slot = ~size_t{0};
  for (const ir::Edge& edge : b.next) {
    if (!edge.to.valid()) continue;
    for (size_t p = 0; p < edge.args.size(); ++p) {
      if (edge.args[p] != value || !slots_(edge.to, p).is_variable()) continue;
      if (slot != ~size_t{0} && slot != p) return {};
      slot = p;
    }
  }
  if (slot == ~size_t{0} || slot < kept) return {};
  if (slot < b.params.size() && slots_(id, slot).is_variable()) return {};
  return variable(slot);
}

// Sets the slots whose value changes on this edge, and clears those that are gone.
void Machine::pass(BlockId id, uint8_t k, Statements& code) {
  const ir::Block& b = graph_[id];
  const ir::Edge& edge = b.next[k];
  Nodes targets;
  std::vector<ValueId> values;
  std::vector<Symbol> gone;
  for (size_t p = 0; p < edge.args.size(); ++p) {
    if (!slots_(edge.to, p).is_variable()) continue;
    const ValueId arg = edge.args[p];
    const auto known = context_.materialized.find(arg);
    if (known != context_.materialized.end() && known->second == variable(p)) continue;
    const SlotKind kind = slots_.of(arg).kind;
    if (kind == SlotKind::Null && slots_(edge.to, p).kind == SlotKind::Boxed) {
      code.append(make_.assign(variable(p), make_.empty_list()));
      continue;
    }
    if (kind == SlotKind::Null || kind == SlotKind::Hidden || kind == SlotKind::Unknown) {
      gone.push_back(variable(p));
      continue;
    }
    targets.push_back(make_.name(variable(p)));
    values.push_back(arg);
  }
  const Nodes nodes = code.take_many(values);
  if (nodes.size() == 1) {
    code.append(make_.assign(targets[0], nodes[0]));
  } else if (!nodes.empty()) {
    code.append(make_.assign(make_.tuple(targets), make_.tuple(nodes)));
  }
  for (size_t p = edge.args.size(); p < b.params.size(); ++p) {
    if (slots_(id, p).is_variable()) gone.push_back(variable(p));
  }
  if (!gone.empty()) code.append(make_.assign_all(gone, make_.none()));
}

// Returns the statements of one of two edges.
Machine::Nodes Machine::way(BlockId id, uint8_t k, const Statements& code) {
  Statements own(context_);
  own.adopt(code);
  pass(id, k, own);
  own.forget_adopted();
  Nodes out = own.take_list();
  const BlockId to = graph_[id].next[k].to;
  if (is_inlined(to)) {
    block(to, out);
  } else {
    go(to, graph_[id].exc_depth, out);
  }
  return out;
}

// `yes`: the edge that is taken if the test is true.
void Machine::fork(BlockId id, NodeId test, uint8_t yes, Statements& code) {
  const Nodes body = way(id, yes, code);
  const Nodes orelse = way(id, static_cast<uint8_t>(1 - yes), code);
  code.append(make_.if_else(test, body, orelse));
}

void Machine::leave(BlockId id, Statements& code) {
  const ir::Block& b = graph_[id];
  switch (b.exit) {
    case ExitKind::Goto:
      return pass(id, 0, code);
    case ExitKind::Branch:
    case ExitKind::BranchNone: {
      NodeId test = code.take(b.operands[0]);
      // Values left on the stack were evaluated before the test.
      code.spill_all();
      if (b.exit == ExitKind::BranchNone) {
        test = make_.compare(test, CmpOperator::Is, make_.none());
      }
      return fork(id, test, 0, code);
    }
    case ExitKind::ForIter:
      return for_iter(id, code);
    case ExitKind::Send:
      return send(id, code);
    case ExitKind::Return:
      return finish_with(id, code);
    case ExitKind::Raise: {
      const Nodes nodes = code.take_many(b.operands);
      ast::Raise raise;
      if (!nodes.empty()) raise.exc = nodes[0];
      if (nodes.size() > 1) raise.cause = nodes[1];
      return code.append(tree_.add(raise, make_.at));
    }
    case ExitKind::Reraise:
      return reraise(id, code);
  }
}

// FOR_ITER asks for the next item; StopIteration is the only exception that it handles.
void Machine::for_iter(BlockId id, Statements& code) {
  const ir::Block& b = graph_[id];
  if (!missing_.valid()) missing_ = generated("missing");
  const NodeId iterator = code.take(b.operands[0]);
  Symbol item = home(id, b.operands[1]);
  if (!item.valid()) item = context_.fresh_name("item");
  const NodeId next = make_.call(make_.builtin("next"), {iterator, make_.name(missing_)});
  code.append(make_.assign(item, next));
  context_.materialized[b.operands[1]] = item;
  const NodeId test = make_.compare(make_.name(item), CmpOperator::IsNot, make_.name(missing_));
  fork(id, test, 0, code);
}

// SEND outside of the loop of `yield from` or `await`.
void Machine::send(BlockId id, Statements& code) {
  fail("a SEND that is no part of `await` or `yield from`", id);
  (void)code;
}

void Machine::finish_with(BlockId id, Statements& code) {
  const ir::Block& b = graph_[id];
  if (scope_ == Scope::Function) {
    NodeId value = code.take(b.operands[0]);
    if (is_none(tree_, value)) value = {};
    return code.append(tree_.add(ast::Return{value}, make_.at));
  }
  code.spill_all();
  if (arms_.empty()) return;
  Nodes end;
  set_state(~0u, end);
  end.push_back(make_.break_loop());
  for (const NodeId statement : end) code.append(statement);
}

void Machine::reraise(BlockId id, Statements& code) {
  const ir::Block& b = graph_[id];
  const ValueId exception = b.operands[b.operands.size() == 3 ? 1 : 0];
  const Slot slot = slots_.of(exception);
  if (b.exc_depth > 0 && slot.handles == b.exc_depth) return code.append(make_.raise());
  raise_as_it_is(code.take(exception), code);
}

// RERAISE: keeps context and traceback.
void Machine::raise_as_it_is(NodeId exception, Statements& code) {
  Nodes keep;
  hand_over(exception, keep);
  for (const NodeId statement : keep) code.append(statement);
  const NodeId again = make_.raise(make_.name(thrown_));
  code.append(make_.try_finally(
      {again}, {restore(make_.name(thrown_)), make_.assign_all({thrown_, saved_}, make_.none())}));
}

}  // namespace pellucid::fallback
