// SPDX-License-Identifier: Apache-2.0
#include "fallback/blocks.h"

#include <algorithm>

#include "ast/nodes.h"
#include "fallback/items.h"
#include "fallback/plain.h"
#include "fallback/star.h"
#include "structure/graph/not_structured.h"

namespace pellucid::fallback {

using ast::CmpOperator;
using ast::NodeId;

namespace {

// Sets the slots whose value changes on this edge, and clears those that are gone.
void pass(Machine& machine, BlockId id, uint8_t k, Statements& code) {
  const ir::Block& b = machine.graph[id];
  const ir::Edge& edge = b.next[k];
  Nodes targets;
  std::vector<ValueId> values;
  std::vector<Symbol> gone;
  for (size_t p = 0; p < edge.args.size(); ++p) {
    if (!machine.slots(edge.to, p).is_variable()) continue;
    const ValueId arg = edge.args[p];
    const auto known = machine.context.materialized.find(arg);
    if (known != machine.context.materialized.end() && known->second == machine.variable(p))
      continue;
    const SlotKind kind = machine.slots.of(arg).kind;
    if (kind == SlotKind::Null && machine.slots(edge.to, p).kind == SlotKind::Boxed) {
      code.append(machine.make.assign(machine.variable(p), machine.make.list()));
      continue;
    }
    if (kind == SlotKind::Null || kind == SlotKind::Hidden || kind == SlotKind::Unknown) {
      gone.push_back(machine.variable(p));
      continue;
    }
    targets.push_back(machine.make.name(machine.variable(p)));
    values.push_back(arg);
  }
  const Nodes nodes = code.take_many(values);
  if (nodes.size() == 1) {
    code.append(machine.make.assign(targets[0], nodes[0]));
  } else if (!nodes.empty()) {
    code.append(machine.make.assign(machine.make.tuple(targets), machine.make.tuple(nodes)));
  }
  for (size_t p = edge.args.size(); p < b.params.size(); ++p) {
    if (machine.slots(id, p).is_variable()) gone.push_back(machine.variable(p));
  }
  if (!gone.empty()) code.append(machine.make.assign_all(gone, machine.make.none()));
}

// Returns the statements of one of two edges.
Nodes way(Machine& machine, BlockId id, uint8_t k, const Statements& code) {
  Statements own(machine.context);
  own.adopt(code);
  pass(machine, id, k, own);
  own.forget_adopted();
  Nodes out = own.take_list();
  const BlockId to = machine.graph[id].next[k].to;
  if (machine.is_inlined(to)) {
    block(machine, to, out);
  } else {
    go(machine, to, machine.graph[id].exc_depth, out);
  }
  return out;
}

// `yes`: the edge that is taken if the test is true.
void fork(Machine& machine, BlockId id, NodeId test, uint8_t yes, Statements& code) {
  const Nodes body = way(machine, id, yes, code);
  const Nodes orelse = way(machine, id, static_cast<uint8_t>(1 - yes), code);
  code.append(machine.make.if_else(test, body, orelse));
}

// FOR_ITER asks for the next item; StopIteration is the only exception that it handles.
void for_iter(Machine& machine, BlockId id, Statements& code) {
  const ir::Block& b = machine.graph[id];
  if (!machine.missing.valid()) machine.missing = machine.generated("missing");
  const NodeId iterator = code.take(b.operands[0]);
  Symbol item = home(machine, id, b.operands[1]);
  if (!item.valid()) item = machine.context.fresh_name("item");
  const NodeId next = machine.make.call(machine.make.builtin("next"),
                                        {iterator, machine.make.name(machine.missing)});
  code.append(machine.make.assign(item, next));
  machine.context.materialized[b.operands[1]] = item;
  const NodeId test = machine.make.compare(machine.make.name(item), CmpOperator::IsNot,
                                           machine.make.name(machine.missing));
  fork(machine, id, test, 0, code);
}

void finish_with(Machine& machine, BlockId id, Statements& code) {
  const ir::Block& b = machine.graph[id];
  if (machine.scope == Scope::Function) {
    NodeId value = code.take(b.operands[0]);
    if (is_none(machine.tree, value)) value = {};
    return code.append(machine.make.add(ast::Return{value}));
  }
  code.spill_all();
  if (machine.arms.empty()) return;
  Nodes end;
  set_state(machine, ~0u, end);
  end.push_back(machine.make.break_loop());
  for (const NodeId statement : end) code.append(statement);
}

void leave(Machine& machine, BlockId id, Statements& code) {
  const ir::Block& b = machine.graph[id];
  switch (b.exit) {
    case ExitKind::Goto:
      return pass(machine, id, 0, code);
    case ExitKind::Branch:
    case ExitKind::BranchNone: {
      NodeId test = code.take(b.operands[0]);
      // Values left on the stack were evaluated before the test.
      code.spill_all();
      if (b.exit == ExitKind::BranchNone) {
        test = machine.make.compare(test, CmpOperator::Is, machine.make.none());
      }
      return fork(machine, id, test, 0, code);
    }
    case ExitKind::ForIter:
      return for_iter(machine, id, code);
    case ExitKind::Send:
      // Outside of the loop of `yield from` or `await`.
      machine.fail("a SEND that is no part of `await` or `yield from`", id);
    case ExitKind::Return:
      return finish_with(machine, id, code);
    case ExitKind::Raise: {
      const Nodes nodes = code.take_many(b.operands);
      ast::Raise raise;
      if (!nodes.empty()) raise.exc = nodes[0];
      if (nodes.size() > 1) raise.cause = nodes[1];
      return code.append(machine.make.add(raise));
    }
    case ExitKind::Reraise:
      return reraise(machine, id, code);
  }
}

Nodes statements_of(Machine& machine, BlockId id) {
  // A failed attempt may have rewritten the bodies that it read as expressions.
  std::vector<std::pair<size_t, ast::ListId>> saved;
  for (const ValueId item : machine.graph[id].items) {
    if (!is_op(machine.graph[item], Op::LoadConst)) continue;
    const object::Const& constant = machine.tree.module()[machine.graph[item].constant()];
    if (constant.kind != object::ConstKind::Code) continue;
    const size_t index = constant.code.index();
    const bool is_hidden =
        machine.tree.text(machine.tree.module()[constant.code].name).starts_with('<');
    if (is_hidden && machine.bodies[index].valid()) {
      saved.push_back({index, ast::clone(machine.tree, machine.bodies[index])});
    }
  }
  try {
    Statements code(machine.context);
    items(machine, id, code);
    leave(machine, id, code);
    return code.take_list();
  } catch (const NotStructured&) {
    // The neat form is not possible.
  }
  for (const auto& [index, body] : saved) machine.bodies.replace(index, body);
  try {
    Statements code(machine.context);
    plain(machine, id, code);
    leave(machine, id, code);
    return code.take_list();
  } catch (const NotStructured& reason) {
    throw NoBody(reason.what(), reason.offset);
  }
}

// Refuses the use of a value that is not the same on all ways.
void check_uses(const Machine& machine, BlockId id) {
  const auto look = [&](ValueId value) {
    if (machine.slots.of(value).kind == SlotKind::Mixed) {
      machine.fail("a slot of the stack that holds a NULL on some ways only", id);
    }
  };
  for (const ValueId item : machine.graph[id].items) {
    if (is_op(machine.graph[item], Op::Pop)) continue;
    for (const ValueId operand : machine.operands(item)) look(operand);
  }
  for (const ValueId operand : machine.graph[id].operands) look(operand);
}

}  // namespace

void block(Machine& machine, BlockId id, Nodes& out) {
  while (id.valid()) {
    const ir::Block& b = machine.graph[id];
    const ast::Where before = machine.make.at;
    machine.make.at = {b.items.empty() ? b.exit_line : machine.graph[b.items[0]].line, b.offset};
    check_uses(machine, id);
    const Nodes statements = statements_of(machine, id);
    out.insert(out.end(), statements.begin(), statements.end());
    BlockId next;
    if (b.exit == ExitKind::Goto) {
      next = b.next[0].to;
      const bool pushes = !b.items.empty() && is_op(machine.graph[b.items.back()], Op::PushExcInfo);
      if (pushes) {
        set_state(machine, machine.pushed_by[id.index()], out);
        next = {};
      } else if (ends_in_split(machine, id)) {
        handle_match(machine, id, out);
        next = {};
      } else if (!machine.is_inlined(next)) {
        go(machine, next, b.exc_depth, out);
        next = {};
      }
    }
    machine.make.at = before;
    id = next;
  }
}

Symbol home(Machine& machine, BlockId id, ValueId value) {
  const ir::Block& b = machine.graph[id];
  const size_t kept =
      b.handler.valid() ? machine.graph.f.handlers[b.handler.index()].depth : size_t{0};
  size_t slot = ~size_t{0};
  for (const ir::Edge& edge : b.next) {
    if (!edge.to.valid()) continue;
    for (size_t p = 0; p < edge.args.size(); ++p) {
      if (edge.args[p] != value || !machine.slots(edge.to, p).is_variable()) continue;
      if (slot != ~size_t{0} && slot != p) return {};
      slot = p;
    }
  }
  if (slot == ~size_t{0} || slot < kept) return {};
  if (slot < b.params.size() && machine.slots(id, slot).is_variable()) return {};
  return machine.variable(slot);
}

void reraise(Machine& machine, BlockId id, Statements& code) {
  const ir::Block& b = machine.graph[id];
  const ValueId exception = b.operands[b.operands.size() == 3 ? 1 : 0];
  const Slot slot = machine.slots.of(exception);
  if (b.exc_depth > 0 && slot.handles == b.exc_depth) return code.append(machine.make.raise());
  raise_as_it_is(machine, code.take(exception), code);
}

void raise_as_it_is(Machine& machine, NodeId exception, Statements& code) {
  Nodes keep;
  hand_over(machine, exception, keep);
  for (const NodeId statement : keep) code.append(statement);
  const NodeId again = machine.make.raise(machine.make.name(machine.thrown));
  code.append(machine.make.try_finally(
      {again}, {restore(machine, machine.make.name(machine.thrown)),
                machine.make.assign_all({machine.thrown, machine.saved}, machine.make.none())}));
}

}  // namespace pellucid::fallback
