// SPDX-License-Identifier: Apache-2.0
#include "fallback/slots.h"

#include "structure/graph/items.h"
#include "structure/scopes/names.h"

namespace pellucid::fallback {

namespace {

bool is_push(const Graph& graph, ValueId item) { return is_op(graph[item], Op::PushExcInfo); }

}  // namespace

bool only_pushes(const Graph& graph, BlockId block) {
  return graph[block].items.size() == 1 && is_push(graph, graph[block].items[0]);
}

bool is_made_for_a_call(const Graph& graph, const object::Module& module, ValueId id) {
  const ir::Value* value = &graph[id];
  if (is_op(*value, Op::SetFunctionAttribute) && value->a == bytecode::kClosure) {
    value = &graph[graph.f.operands(*value)[1]];
  }
  const uint32_t closure = bytecode::kClosure;
  if (!is_op(*value, Op::MakeFunction) || (value->a & ~closure) != 0) return false;
  for (const ValueId operand : graph.f.operands(*value)) {
    const ir::Value& code = graph[operand];
    if (!is_op(code, Op::LoadConst)) continue;
    const object::Const& constant = module[code.constant()];
    if (constant.kind != object::ConstKind::Code) continue;
    const object::Code& body = module[constant.code];
    return (body.flags & object::kOptimized) == 0 || is_comprehension_name(module.text(body.name));
  }
  return false;
}

Slots::Slots(const Graph& graph, const object::Module& module)
    : graph_(graph), module_(module), slots_(graph.size()), param_(graph.f.values.size()) {
  for (size_t b = 0; b < graph.size(); ++b) {
    const auto& params = graph[BlockId(b)].params;
    slots_[b].resize(params.size());
    for (uint32_t p = 0; p < params.size(); ++p) param_[params[p].index()] = {BlockId(b), p};
  }
  seed_handlers();
  // A slot changes a few times only: kinds are a lattice of height three.
  bool changed = true;
  while (changed) {
    changed = false;
    for (const BlockId block : graph.order()) changed = flow_from(block) || changed;
  }
}

bool Slots::join(BlockId block, size_t slot, Slot with) {
  Slot& now = slots_[block.index()][slot];
  const Slot before = now;
  if (with.kind == SlotKind::Unknown) return false;
  if (now.kind == SlotKind::Unknown) {
    now = with;
  } else {
    const bool boxes = (now.kind == SlotKind::Boxed && with.kind == SlotKind::Null) ||
                       (now.kind == SlotKind::Null && with.kind == SlotKind::Boxed);
    if (boxes) {
      now.kind = SlotKind::Boxed;
    } else if (now.kind == SlotKind::Static || with.kind == SlotKind::Static) {
      // A value made at its use is as good as any other.
      const auto is_value = [](SlotKind kind) {
        return kind == SlotKind::Static || kind == SlotKind::Value;
      };
      if (!is_value(now.kind) || !is_value(with.kind)) {
        now.kind = SlotKind::Mixed;
      } else if (now.kind != with.kind || now.source != with.source) {
        now.kind = SlotKind::Value;
      }
    } else if (now.kind != with.kind) {
      now.kind = SlotKind::Mixed;
    }
    if (now.handles != with.handles) now.handles = 0;
  }
  return now.kind != before.kind || now.handles != before.handles;
}

void Slots::seed_handlers() {
  const Slot hidden{SlotKind::Hidden, 0, {}};
  for (const flow::Handler& handler : graph_.f.handlers) {
    if (!graph_.reachable(handler.entry)) continue;
    const uint32_t first = handler.depth;
    if (handler.is_on_block_stack()) {
      for (uint32_t i = 0; i < 6; ++i) {
        const Slot value{SlotKind::Value, level_of(handler) + 1, {}};
        join(handler.entry, first + i, i == 4 ? value : hidden);
      }
      continue;
    }
    if (handler.lasti) join(handler.entry, first, hidden);
    join(handler.entry, first + handler.pushes - 1, {SlotKind::Value, 0, {}});
  }
}

Slot Slots::of(ValueId id) const {
  const ir::Value& value = graph_[id];
  switch (value.kind) {
    case ValueKind::Null:
      return {SlotKind::Null, 0, {}};
    case ValueKind::Exception:
      return {SlotKind::Hidden, 0, {}};
    case ValueKind::Phi: {
      const auto [block, slot] = param_[id.index()];
      return slots_[block.index()][slot];
    }
    case ValueKind::Instr:
      if (value.op == Op::LoadConst || value.op == Op::LoadBuildClass ||
          is_made_for_a_call(graph_, module_, id)) {
        return {SlotKind::Static, 0, id};
      }
      return {value.op == Op::LoadFastAndClear ? SlotKind::Boxed : SlotKind::Value, 0, {}};
    case ValueKind::Element:
    case ValueKind::Item:
    case ValueKind::Sent:
    case ValueKind::Region:
      return {SlotKind::Value, 0, {}};
  }
  return {};
}

bool Slots::flow_from(BlockId id) {
  const ir::Block& block = graph_[id];
  bool changed = false;
  const bool pushes = !block.items.empty() && is_push(graph_, block.items.back());
  const bool splits = !block.items.empty() && is_op(graph_[block.items.back()], Op::EgMatch);
  for (const ir::Edge& edge : block.next) {
    if (!edge.to.valid()) continue;
    for (size_t p = 0; p < edge.args.size(); ++p) {
      Slot slot = of(edge.args[p]);
      if (pushes && p + 1 == edge.args.size()) slot.handles = block.exc_depth + 1;
      if (splits && slot.handles == block.exc_depth) slot.handles = 0;  // the match may be instead
      changed = join(edge.to, p, slot) || changed;
    }
  }
  if (block.handler.valid()) {
    const flow::Handler& handler = graph_.f.handlers[block.handler.index()];
    for (uint32_t p = 0; p < handler.depth && p < block.params.size(); ++p) {
      changed = join(handler.entry, p, slots_[id.index()][p]) || changed;
      // No edge sets the slots that the handler finds: they are set at the start of the block.
      if (slots_[handler.entry.index()][p].kind == SlotKind::Value) {
        if (slots_[id.index()][p].kind == SlotKind::Static) {
          changed = join(id, p, {SlotKind::Value, 0, {}}) || changed;
        }
      }
    }
  }
  return changed;
}

}  // namespace pellucid::fallback
