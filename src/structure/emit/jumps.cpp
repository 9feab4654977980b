// SPDX-License-Identifier: Apache-2.0
// `return`, `raise` and jump statements without effect.
#include <algorithm>

#include "ast/nodes.h"
#include "structure/emit/emission.h"
#include "structure/graph/items.h"

namespace pellucid::structure {

using ast::NodeId;

namespace {

// Returns true if the returned string was loaded before the last exit from a region or loop.
// Compilers load a constant after that exit: this one was an f-string without parts.
bool is_loaded_inside(const Emission& e, BlockId block) {
  const Graph& graph = e.graph;
  const ValueId value = graph.resolve(graph[block].operands[0]);
  if (!is_op(graph[value], Op::LoadConst)) return false;
  const object::Const& text = e.tree.module()[graph[value].constant()];
  if (text.kind != object::ConstKind::Str || e.tree.text(text.text).empty()) return false;
  const auto leaves = [&](ValueId item) {
    return is_leaving(graph[item]) || drops(graph[item], ir::Dropped::Iterator);
  };
  const auto& own = graph[block].items;
  const auto place = std::find(own.begin(), own.end(), value);
  if (place != own.end()) return std::any_of(place, own.end(), leaves);
  for (const BlockId id : graph.order()) {
    const auto& items = graph[id].items;
    const auto load = std::find(items.begin(), items.end(), value);
    if (load == items.end()) continue;
    return graph[id].handler != graph[block].handler || std::any_of(load, items.end(), leaves);
  }
  return false;
}

// Returns true if the value is the AssertionError that an `assert` loads.
bool loads_error(const ir::Value& value) {
  return is_op(value, Op::LoadAssertionError) || (is_op(value, Op::LoadGlobal) && value.b == 1);
}

// If `raise` is the failure of an `assert`, notes that, with the message.
void note_assertion(Emission& e, const ir::Block& b, NodeId raise, NodeId exception,
                    ast::Where at) {
  const Graph& graph = e.graph;
  const ir::Value* error = &graph[graph.resolve(b.operands[0])];
  NodeId message;
  if (is_op(*error, Op::Call) && error->count == 2 && e.tree.is(exception, ast::Kind::Call)) {
    error = &graph[graph.resolve(graph.f.operands(*error)[0])];
    message = e.tree.items(e.tree.as<ast::Call>(exception).args)[0];
  }
  if (!loads_error(*error)) return;
  e.assertions[raise] = message;
  // No other statement has this instruction.
  if (error->op == Op::LoadAssertionError) {
    e.tree.set(raise,
               ast::Assert{ast::constant_node(e.tree, object::ConstKind::False, at), message});
  }
}

void emit_return(Emission& e, const ir::Block& b, BlockId block, Statements& out) {
  const ast::Where at = exit_where(e, block);
  if (e.values.accumulators.count(e.graph.resolve(b.operands[0]))) {
    return out.append(e.tree.add(ast::Return{}, at));
  }
  NodeId value = out.take(b.operands[0]);
  if (is_none(e.tree, value)) value = {};
  // A walrus is no constant to compilers.
  if (value.valid() && e.tree.is(value, ast::Kind::Constant) && is_loaded_inside(e, block)) {
    value = e.tree.add(ast::JoinedStr{e.tree.list({value})}, at);
  }
  ast::Where place = at;
  // A return that leaves a `with` is compiled on the line of the `with`.
  const bool leaves_region = b.items.size() > 1 && is_leaving(e.graph[b.items.back()]);
  if (value.valid() && leaves_region) place.line = e.tree.where(value).line;
  out.append(e.tree.add(ast::Return{value}, place));
}

}  // namespace

void emit_leave(Emission& e, BlockId block, Statements& out) {
  const ir::Block& b = e.graph[block];
  if (b.exit == ExitKind::Return) return emit_return(e, b, block, out);
  const ast::Where at = exit_where(e, block);
  NodeId exception, cause;
  if (b.operands.size() == 2) cause = out.take(b.operands[1]);
  if (!b.operands.empty()) exception = out.take(b.operands[0]);
  const NodeId raise = e.tree.add(ast::Raise{exception, cause}, at);
  if (b.operands.size() == 1) note_assertion(e, b, raise, exception, at);
  out.append(raise);
}

// Refuses to raise a computed value again, which no Python statement does.
void check_reraise(const Emission& e, BlockId block) {
  const auto& values = e.graph[block].operands;
  const bool computed =
      !values.empty() && std::all_of(values.begin(), values.end(), [&](ValueId id) {
        id = e.graph.resolve(id);
        return e.graph[id].kind == ValueKind::Instr || e.values.materialized.count(id) > 0;
      });
  if (computed) fail(e, "an exception that is raised again where it is not handled", block);
}

void emit_lost(Emission& e, const LostPlan& lost, Statements& out) {
  switch (lost.jump) {
    case LostJump::Break:
      return out.append(e.tree.add(ast::Break{}));
    case LostJump::Continue:
      return out.append(e.tree.add(ast::Continue{}));
    case LostJump::Return:
      break;
  }
  const NodeId value = lost.value.valid() ? e.tree.add(ast::Constant{lost.value}) : NodeId();
  out.append(e.tree.add(ast::Return{value}));
}

}  // namespace pellucid::structure
