// SPDX-License-Identifier: Apache-2.0
#include "structure/graph/graph.h"

#include <algorithm>

#include "base/check.h"
#include "structure/graph/items.h"
#include "structure/graph/not_structured.h"
#include "structure/graph/uses.h"
#include "structure/graph/walk.h"

namespace pellucid::structure {
namespace {

// Moves the parameters of an empty block to its successor, if that has no other predecessor.
void move_params(Graph& g) {
  bool changed = false;
  for (const BlockId id : g.order()) {
    ir::Block& block = g[id];
    if (block.params.empty() || !block.items.empty() || block.exit != ExitKind::Goto) continue;
    const ir::Edge next = block.next[0];
    ir::Block& rest = g[next.to];
    const bool enters = rest.handler != block.handler && within(g, rest.handler, block.handler);
    if (!next.args.empty() || next.to == id || !rest.params.empty() || enters ||
        g.kept.contains(id)) {
      continue;
    }
    if (g.ways_into(next.to).size() != 1) continue;
    rest.params = std::move(block.params);
    block.params.clear();
    g.redirect(id, 0, {});
    for (const Way way : g.ways_into(id).copy()) {
      g.redirect(way.from, way.edge, next.to, std::move(g[way.from].next[way.edge].args));
    }
    changed = true;
  }
  if (changed) g.recompute();
}

}  // namespace

void ClauseEnds::note(const Graph& graph, ValueId exception, BlockId end) {
  ends_[exception] = end;
  const auto leaves = [&](ValueId item) { return is_op(graph[item], Op::PopExcept); };
  is_end_.resize(graph.size());
  if (!end.valid()) return;
  // Blocks that only leave the clause end where the statement does.
  is_end_[end.index()] = 1;
  Cursor at{end};
  walk_past(graph, at, leaves, [&](const ir::Edge& edge) {
    is_end_[edge.to.index()] = 1;
    at = {edge.to};
    return true;
  });
}

BlockId ClauseEnds::of(ValueId exception) const {
  const auto end = ends_.find(exception);
  return end == ends_.end() ? BlockId() : end->second;
}

Graph::Graph(ir::Function&& function) : f(std::move(function)), loop_spans(f) {
  handlers.resize(f.handlers.size());
  for (size_t i = 0; i < handlers.size(); ++i) {
    handlers[i].outer = f.blocks[f.handlers[i].entry.index()].handler;
  }
  for (HandlerInfo& info : handlers) {
    for (HandlerId h = info.outer; h.valid() && info.depth < handlers.size();) {
      ++info.depth;
      h = handlers[h.index()].outer;
    }
  }
  entered_.assign(f.blocks.size(), 0);
  for (const flow::Handler& handler : f.handlers) {
    // 3.11 counts the exception with an instruction of the handler (PushExcInfo).
    if (!handler.is_on_block_stack() && handler.begins) entered_[handler.entry.index()] = 1;
  }
  recompute();
}

void Graph::recompute() {
  is_current_ = true;
  ++version_;
  const size_t count = f.blocks.size();
  ways_.clear(count);
  reachable_.assign(count, 0);
  // At the front of the list, the blocks on the way from the entry; at its end, those that are
  // done. `reachable_` is one more than the number of successors that were looked at.
  order_.resize(count);
  size_t on_way = 0, done = count;
  const auto enter = [&](BlockId id) {
    reachable_[id.index()] = 1;
    order_[on_way++] = id;
  };
  enter(entry());
  while (on_way > 0) {
    const BlockId id = order_[on_way - 1];
    const ir::Block& block = f.blocks[id.index()];
    uint8_t& step = reachable_[id.index()];
    BlockId next;
    while (step <= 3 && !next.valid()) {
      // The jump target first, so that the fall-through comes right after its block.
      if (step > 1) {
        next = block.next[step == 2 ? block.jump : 1 - block.jump].to;
      } else if (block.handler.valid()) {
        next = f.handlers[block.handler.index()].entry;
      }
      ++step;
      if (next.valid() && reachable_[next.index()] != 0) next = BlockId();
    }
    if (next.valid()) {
      enter(next);
    } else {
      --on_way;
      order_[--done] = id;
    }
  }
  order_.erase(order_.begin(), order_.begin() + static_cast<ptrdiff_t>(done));
  for (const BlockId id : order_) {
    for (uint8_t k = 0; k < 2; ++k) {
      const BlockId to = f.blocks[id.index()].next[k].to;
      if (to.valid()) ways_.add({id, k}, to);
    }
  }
}

void Graph::drop_forgotten() {
  is_current_ = true;
  ++version_;
  std::erase_if(order_, [&](BlockId id) { return !reachable(id); });
}

ValueId Graph::add(ir::Value value, std::span<const ValueId> operands) {
  value.first = static_cast<uint32_t>(f.operand_pool.size());
  value.count = static_cast<uint32_t>(operands.size());
  const std::vector<ValueId> copy(operands.begin(), operands.end());
  f.operand_pool.insert(f.operand_pool.end(), copy.begin(), copy.end());
  f.values.push_back(value);
  return ValueId(f.values.size() - 1);
}

uint32_t Graph::exceptions_at(BlockId id, size_t index) const {
  const ir::Block& block = f.blocks[id.index()];
  uint32_t depth = block.exc_depth;
  if (id.index() < entered_.size()) depth += entered_[id.index()];
  for (size_t i = 0; i < index; ++i) {
    if (is_op(f[block.items[i]], Op::PopExcept) && depth > 0) --depth;
  }
  return depth;
}

BlockId Graph::split(BlockId id, size_t index) {
  is_current_ = false;
  ++version_;
  ir::Block rest;
  ir::Block& block = f.blocks[id.index()];
  rest.exc_depth = exceptions_at(id, index);
  rest.items.assign(block.items.begin() + static_cast<ptrdiff_t>(index), block.items.end());
  block.items.resize(index);
  rest.exit = block.exit;
  rest.jump = block.jump;
  rest.is_lost_test = std::exchange(block.is_lost_test, false);
  rest.operands = std::move(block.operands);
  rest.next = std::move(block.next);
  rest.handler = block.handler;
  rest.exit_offset = block.exit_offset;
  rest.exit_line = block.exit_line;
  rest.offset = rest.items.empty() ? block.exit_offset : f[rest.items.front()].offset;
  block.exit = ExitKind::Goto;
  block.operands.clear();
  block.next = {};
  const BlockId fresh(f.blocks.size());
  block.next[0].to = fresh;
  f.blocks.push_back(std::move(rest));
  reachable_.resize(f.blocks.size(), 1);
  return fresh;
}

void Graph::redirect(BlockId from, uint8_t k, BlockId to, std::vector<ValueId> args) {
  is_current_ = false;
  ++version_;
  ir::Edge& edge = f.blocks[from.index()].next[k];
  edge.to = to;
  edge.args = std::move(args);
  ways_.set({from, k}, to);
}

void Graph::take_exit(BlockId into, BlockId from) {
  ir::Block& source = f.blocks[from.index()];
  std::array<ir::Edge, 2> next = source.next;
  for (uint8_t k = 0; k < 2; ++k) {
    redirect(from, k, {});
    redirect(into, k, next[k].to, std::move(next[k].args));
  }
  ir::Block& target = f.blocks[into.index()];
  target.exit = source.exit;
  target.jump = source.jump;
  target.is_lost_test = source.is_lost_test;
  target.operands = source.operands;
  target.exit_offset = source.exit_offset;
  target.exit_line = source.exit_line;
}

void Graph::alias(ValueId from, ValueId to) {
  // In a loop that is reached from itself only.
  if (resolve(to) == from) throw NotStructured("a value that stands for itself", f[from].offset);
  if (alias_.size() <= from.index()) alias_.resize(f.values.size());
  alias_[from.index()] = to;
}

bool within(const Graph& g, HandlerId inner, HandlerId outer) {
  if (!outer.valid()) return true;
  for (size_t steps = 0; inner.valid() && steps <= g.handlers.size(); ++steps) {
    if (inner == outer) return true;
    inner = g.handlers[inner.index()].outer;
  }
  return false;
}

void apply_aliases(Graph& g) {
  if (!g.has_aliases()) return;
  for (ValueId& id : g.f.operand_pool) id = g.resolve(id);
  for (ir::Block& block : g.f.blocks) {
    for (ValueId& id : block.operands) id = g.resolve(id);
    for (ir::Edge& edge : block.next) {
      for (ValueId& id : edge.args) id = g.resolve(id);
    }
  }
  for (Region& region : g.regions) {
    for (Part& part : region.parts) part.result = g.resolve(part.result);
  }
}

bool merge_into_only_predecessor(Graph& g, BlockId id) {
  if (g.clause_ends.contains(id)) return false;
  const BlockId from = g.ways_into(id).front().from;
  ir::Block& first = g[from];
  ir::Block& second = g[id];
  if (from == id || first.exit != ExitKind::Goto || first.handler != second.handler) return false;
  // The end of a `finally` body: a `break` of the body's last loop may lead to it as well.
  if (second.items.empty() && second.exit == ExitKind::Reraise && !second.operands.empty()) {
    return false;
  }
  const uint32_t end_of_loop = g.loop_spans.end_around(first.offset);
  if (end_of_loop != 0 && second.offset >= end_of_loop) return false;
  bind_params(g, second.params, first.next[0].args);
  first.items.insert(first.items.end(), second.items.begin(), second.items.end());
  second.items = {};
  g.take_exit(from, id);
  return true;
}

void thread_empty_blocks(Graph& g) {
  move_params(g);
  // By block: whether a later block outside of a region leads to it.
  RareMap<BlockId, std::pair<HandlerId, bool>> known;
  const auto repeats = [&](BlockId target, HandlerId region) {
    const auto [it, is_new] = known.try_emplace(target, region, false);
    if (!is_new && it->second.first == region) return it->second.second;
    const auto ways = g.ways_into(target);
    const bool found = std::any_of(ways.begin(), ways.end(), [&](const Way way) {
      const ir::Block& from = g[way.from];
      return from.offset > g[target].offset && !within(g, from.handler, region);
    });
    it->second = {region, found};
    return found;
  };
  bool changed = false;
  for (const BlockId id : g.order()) {
    for (uint8_t k = 0; k < 2; ++k) {
      ir::Edge& edge = g[id].next[k];
      for (size_t steps = 0; edge.to.valid() && steps < g.f.blocks.size(); ++steps) {
        const ir::Block& target = g[edge.to];
        if (!target.items.empty() || target.exit != ExitKind::Goto ||
            edge.to == target.next[0].to || edge.to == g.entry() || g.kept.contains(edge.to)) {
          break;
        }
        // An empty block before a region is a loop header: the whole `try` repeats, not its body.
        // 3.12 leaves jumps back within a body unprotected, but then the header inside has other
        // ways into it. With a block stack, no jump from outside enters a body.
        const BlockId head = target.next[0].to;
        const HandlerId head_region = g[head].handler;
        if (head_region != target.handler && within(g, head_region, target.handler) &&
            (g.ways_into(head).size() == 1 || repeats(edge.to, head_region) ||
             (g.f.handlers[head_region.index()].is_on_block_stack() &&
              target.offset <= g[id].offset))) {
          break;
        }
        if (edge.args.size() != target.params.size()) {
          throw NotStructured("a way that brings other values than are taken", target.offset);
        }
        std::vector<ValueId> args = target.next[0].args;
        // What is used further on stays a parameter of this block.
        const bool is_used_later =
            std::any_of(target.params.begin(), target.params.end(), [&](ValueId param) {
              return static_cast<ptrdiff_t>(g[param].uses) >
                     std::count(args.begin(), args.end(), param);
            });
        if (is_used_later) break;
        for (ValueId& arg : args) {
          for (size_t p = 0; p < target.params.size(); ++p) {
            if (arg == target.params[p]) arg = edge.args[p];
          }
        }
        for (const ValueId arg : edge.args) drop_use(g, arg);
        for (const ValueId arg : args) add_use(g, arg);
        edge.to = head;
        edge.args = std::move(args);
        changed = true;
      }
    }
  }
  if (!changed) return;
  const std::vector<BlockId> before = g.order();
  g.recompute();
  for (const BlockId id : before) {
    if (!g.reachable(id)) release(g, id);
  }
}

bool is_statement(const ir::Value& value) {
  if (value.kind != ValueKind::Instr) return false;
  switch (value.op) {
    case Op::Pop:
    case Op::StoreFast:
    case Op::StoreName:
    case Op::StoreGlobal:
    case Op::StoreDeref:
    case Op::StoreAttr:
    case Op::StoreSubscr:
    case Op::DeleteFast:
    case Op::DeleteName:
    case Op::DeleteGlobal:
    case Op::DeleteDeref:
    case Op::DeleteAttr:
    case Op::DeleteSubscr:
    case Op::ImportName:
    case Op::ImportFrom:
    case Op::ImportStar:
    case Op::SetupAnnotations:
    case Op::PrintExpr:
    case Op::MakeCell:
    case Op::PopExcept:
    case Op::Marker:
    case Op::EndAsyncFor:
    case Op::BeforeWith:
    case Op::BeforeAsyncWith:
    case Op::WithExceptStart:
    case Op::UnpackSequence:
    case Op::UnpackEx:
    case Op::StartGenerator:
      return true;
    case Op::ListAppend:
    case Op::SetAdd:
    case Op::MapAdd:
    case Op::ListExtend:
    case Op::SetUpdate:
    case Op::DictUpdate:
      return value.a > 1;
    default:  // everything else computes a value
      return false;
  }
}

}  // namespace pellucid::structure
