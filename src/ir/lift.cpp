// SPDX-License-Identifier: Apache-2.0
#include "ir/lift.h"

#include <algorithm>
#include <optional>
#include <span>

#include "base/check.h"
#include "ir/phis.h"
#include "ir/split.h"
#include "ir/stack_machine.h"

namespace pellucid::ir {
namespace {

// Returns the blocks in an order in which each comes after at least one predecessor.
std::vector<BlockId> reverse_postorder(const flow::Graph& graph) {
  const size_t count = graph.blocks.size();
  std::vector<uint8_t> seen(count, 0);
  std::vector<BlockId> order;
  struct Frame {
    BlockId block;
    uint32_t step;
  };
  std::vector<Frame> stack{{BlockId(0u), 0}};
  seen[0] = 1;
  while (!stack.empty()) {
    Frame& frame = stack.back();
    const flow::Block& block = graph[frame.block];
    // The handler is visited first, so that it comes last: after the code that it protects.
    BlockId next;
    const uint32_t step = frame.step++;
    if (step == 0) {
      if (block.handler.valid()) next = graph[block.handler].entry;
    } else if (step <= 2) {
      // The far target first, so that the block laid out next comes right after this one.
      next = block.exit.next[step == 1 ? 1 : 0];
    } else {
      order.push_back(frame.block);
      stack.pop_back();
      continue;
    }
    if (next.valid() && !seen[next.index()]) {
      seen[next.index()] = 1;
      stack.push_back({next, 0});
    }
  }
  std::reverse(order.begin(), order.end());
  return order;
}

class Lifter {
 public:
  Lifter(const flow::Graph& graph, bool slots) : graph_(graph), by_slots_(slots), ways_(graph) {
    // About one per instruction.
    out_.values.reserve(graph.instrs.size() + 2 * graph.blocks.size());
    used_.reserve(out_.values.capacity());
    out_.operand_pool.reserve(graph.instrs.size());
    out_.values.emplace_back().kind = ValueKind::Null;
    used_.push_back(0);
    out_.code = graph.code;
    out_.handlers = graph.handlers;
    out_.wraps_stop_iteration = graph.wraps_stop_iteration;
    out_.marks_ends = graph.marks_ends;
    out_.marks_empty_bodies = graph.marks_empty_bodies;
    out_.folds = graph.folds;
    out_.habits = graph.habits;
    out_.blocks.resize(graph.blocks.size());
    exits_.resize(graph.blocks.size());
    slots_.resize(graph.blocks.size());
    done_.resize(graph.blocks.size(), 0);
  }

  Result<Function> run() {
    for (const BlockId id : reverse_postorder(graph_)) {
      if (auto error = enter(id)) return *error;
      current_ = id;
      StackMachine machine(out_, out_.blocks[id.index()], used_);
      const flow::Block& block = graph_[id];
      out_.blocks[id.index()].items.reserve(block.count);
      machine.stack = std::move(stack_);
      machine.stack = out_.blocks[id.index()].entry_stack;
      machine.settled = settled_before(id);
      for (uint32_t i = 0; i < block.count; ++i) {
        const bytecode::Instr& instr = graph_.instrs[block.first + i];
        if (by_slots_ && instr.op == Op::PushExcInfo) note_push(machine, instr);
        has_async_loop_ = has_async_loop_ || instr.op == Op::GetAnext;
        machine.step(instr);
      }
      leave(id, machine);
      stack_ = std::move(machine.stack);
      if (machine.has_drops) with_drops_.push_back(id);
      done_[id.index()] = 1;
    }
    for (size_t i = 0; i < out_.blocks.size(); ++i) {
      for (uint8_t k = 0; k < 2; ++k) fill_arguments(BlockId(i), k);
    }
    if (by_slots_) {
      find_nulls(out_, ways_);
    } else {
      remove_trivial_phis(out_, ways_, kept_);
      if (auto error = changed_below_handler()) return *error;
    }
    mark_dropped_iterators();
    count_uses();
    return std::move(out_);
  }

 private:
  // Makes the entry stack of `id`.
  std::optional<Error> enter(BlockId id) {
    Block& block = out_.blocks[id.index()];
    const flow::Block& source = graph_[id];
    block.handler = source.handler;
    block.exc_depth = source.exc_depth;
    block.offset = source.offset;
    block.loop_end = source.loop_end;
    while (block.drops < source.count && graph_.instrs[source.first + block.drops].op == Op::Pop) {
      ++block.drops;
    }
    const std::span<const Way> ways = ways_.normal[id];
    const std::span<const Protected> regions = ways_.protects[id];
    if (by_slots_) {
      for (uint32_t slot = 0; slot < source.depth; ++slot) add_param(id, slot);
      return std::nullopt;
    }
    if (!regions.empty()) {
      if (!ways.empty()) {
        return Error{ErrorCode::Unsupported, source.offset,
                     "an exception handler that is also reached by a jump"};
      }
      enter_handler(id, regions);
      return std::nullopt;
    }
    if (ways.size() == 1 && done_[ways[0].from.index()]) {
      block.entry_stack = exits_[ways[0].from.index()][ways[0].edge];
      return std::nullopt;
    }
    for (uint32_t slot = 0; slot < source.depth; ++slot) {
      const ValueId common = common_value(ways, slot);
      if (common.valid()) {
        block.entry_stack.push_back(common);
        continue;
      }
      add_param(id, slot);
    }
    return std::nullopt;
  }

  // Returns the value whose effect came right before a block with one predecessor: the condition of
  // the jump to it, the value stored last, or a constant loaded last.
  ValueId settled_before(BlockId id) const {
    if (ways_.normal[id].size() != 1) return {};
    const Way& way = ways_.normal[id][0];
    if (!done_[way.from.index()]) return {};
    const Block& from = out_.blocks[way.from.index()];
    if (from.exit == ExitKind::Branch && way.edge == from.jump) return from.operands[0];
    const bool continues = from.exit == ExitKind::Goto && !from.items.empty() &&
                           from.handler == out_.blocks[id.index()].handler;
    if (!continues) return {};
    const Value& last = out_[from.items.back()];
    if (is_op(last, Op::LoadConst)) return from.items.back();
    return stores_name(last) ? out_.operands(last)[0] : ValueId();
  }

  void add_param(BlockId id, uint32_t slot) {
    Block& block = out_.blocks[id.index()];
    const ValueId phi = new_phi(block.offset);
    block.params.push_back(phi);
    slots_[id.index()].push_back(slot);
    block.entry_stack.push_back(phi);
  }

  // Adds PUSH_EXC_INFO as an item: where every slot is a parameter, nothing else shows it.
  void note_push(StackMachine& machine, const bytecode::Instr& instr) {
    Value push;
    push.op = instr.op;
    push.offset = instr.offset;
    push.line = instr.line;
    out_.blocks[current_.index()].items.push_back(machine.make(push, {machine.top()}));
  }

  void enter_handler(BlockId id, std::span<const Protected> regions) {
    Block& block = out_.blocks[id.index()];
    const flow::Handler& handler = graph_[regions[0].handler];
    for (uint32_t slot = 0; slot < handler.depth; ++slot) {
      ValueId kept;
      bool differs = false;
      for (const Protected& region : regions) {
        if (!done_[region.block.index()]) continue;
        const auto& stack = out_.blocks[region.block.index()].entry_stack;
        if (slot >= stack.size()) continue;
        differs = differs || (kept.valid() && kept != stack[slot]);
        kept = stack[slot];
      }
      if (differs) {
        // It may turn out to be one value. If not, the handler may only drop it: no edge carries
        // it.
        kept = new_phi(block.offset);
        kept_.push_back({kept, id, slot});
      }
      block.entry_stack.push_back(kept.valid() ? kept : kNull);
    }
    const auto push = [&](ExceptionPart part) {
      Value value;
      value.kind = ValueKind::Exception;
      value.a = static_cast<uint32_t>(part);
      value.offset = graph_[id].offset;
      out_.values.push_back(value);
      block.entry_stack.push_back(ValueId(out_.values.size() - 1));
    };
    if (handler.is_on_block_stack()) {
      for (int i = 0; i < 3; ++i) push(ExceptionPart::Previous);
      push(ExceptionPart::Traceback);
      push(ExceptionPart::Value);
      push(ExceptionPart::Type);
    } else {
      if (handler.pushes == 2) push(ExceptionPart::Lasti);
      push(ExceptionPart::Value);
    }
    used_.resize(out_.values.size(), 0);
  }

  // Returns an error if a handler can find different values in a slot that it keeps, from whichever
  // block of its region, later ones included.
  std::optional<Error> changed_below_handler() const {
    if (graph_.handlers.empty()) return std::nullopt;
    for (size_t b = 0; b < out_.blocks.size(); ++b) {
      const auto& kept = out_.blocks[b].entry_stack;
      for (const Protected& region : ways_.protects[BlockId(b)]) {
        const auto& stack = out_.blocks[region.block.index()].entry_stack;
        const uint32_t depth = graph_[region.handler].depth;
        for (uint32_t slot = 0; slot < depth; ++slot) {
          if (slot < stack.size() && stack[slot] == kept[slot]) continue;
          if (std::any_of(kept_.begin(), kept_.end(),
                          [&](const Kept& other) { return other.phi == kept[slot]; })) {
            continue;
          }
          return Error{ErrorCode::Unsupported, graph_[region.block].offset,
                       "a handler that finds one of several values on the stack"};
        }
      }
    }
    return std::nullopt;
  }

  // Returns the one value that every edge brings in `slot`, if all are known already; else invalid.
  ValueId common_value(std::span<const Way> ways, uint32_t slot) const {
    ValueId common;
    for (const Way& way : ways) {
      if (!done_[way.from.index()]) return {};
      const auto& stack = exits_[way.from.index()][way.edge];
      if (slot >= stack.size()) return {};
      if (!common.valid()) common = stack[slot];
      if (common != stack[slot]) return {};
    }
    return common;
  }

  void leave(BlockId id, StackMachine& machine) {
    Block& block = out_.blocks[id.index()];
    const flow::Exit& exit = graph_[id].exit;
    block.exit = exit.kind;
    block.jump = exit.jump;
    block.is_lost_test = exit.kind == ExitKind::Branch && exit.instr.b == flow::kLostTest;
    block.exit_offset = exit.instr.offset;
    block.exit_line = exit.instr.line;
    for (int k = 0; k < 2; ++k) block.next[k].to = exit.next[k];
    auto& stacks = exits_[id.index()];
    switch (exit.kind) {
      case ExitKind::Goto:
        break;
      case ExitKind::Branch:
      case ExitKind::BranchNone:
      case ExitKind::Return:
        block.operands.push_back(machine.pop_used());
        break;
      case ExitKind::ForIter: {
        const uint32_t slots = 1 + exit.instr.b;
        const ValueId iterator = machine.peek(slots);
        machine.use(iterator);
        block.operands.push_back(iterator);
        machine.mark_iterator(iterator);
        stacks[1] = machine.stack;
        stacks[1].resize(stacks[1].size() - slots);
        Value item;
        item.kind = ValueKind::Item;
        item.offset = exit.instr.offset;
        item.line = exit.instr.line;
        const ValueId next = machine.make(item, {iterator});
        block.operands.push_back(next);
        machine.stack.push_back(next);
        stacks[0] = machine.stack;
        return;
      }
      case ExitKind::Send: {
        const ValueId sent = machine.pop_used();
        const ValueId receiver = machine.peek(exit.instr.b == 2 ? 2 : 1);
        machine.use(receiver);
        block.operands = {receiver, sent};
        Value value;
        value.kind = ValueKind::Sent;
        value.offset = exit.instr.offset;
        value.line = exit.instr.line;
        machine.stack.push_back(machine.make(value, {receiver, sent}));
        stacks[0] = machine.stack;
        stacks[1] = machine.stack;
        return;
      }
      case ExitKind::Raise:
        for (uint32_t i = 0; i < exit.instr.a; ++i) block.operands.push_back(machine.pop_used());
        std::reverse(block.operands.begin(), block.operands.end());
        break;
      case ExitKind::Reraise:
        for (uint32_t i = 0; i < exit.instr.a; ++i) block.operands.push_back(machine.pop_used());
        std::reverse(block.operands.begin(), block.operands.end());
        // After the handler nothing of its exception is left.
        if (exit.next[0].valid()) machine.stack.resize(graph_[exit.next[0]].depth);
        break;
    }
    for (size_t k = 0; k < 2; ++k) {
      if (exit.next[k].valid()) stacks[k] = machine.stack;
    }
  }

  void fill_arguments(BlockId id, uint8_t k) {
    Edge& edge = out_.blocks[id.index()].next[k];
    if (!edge.to.valid()) return;
    const auto& stack = exits_[id.index()][k];
    for (const uint32_t slot : slots_[edge.to.index()]) {
      PELLUCID_CHECK(slot < stack.size());
      edge.args.push_back(stack[slot]);
    }
  }

  // Corrects drops of an outer loop's iterator: while that was a phi, they looked like expression
  // statements, or like nothing at all.
  void mark_dropped_iterators() {
    if (with_drops_.empty()) return;
    std::vector<uint8_t> is_iterator(out_.values.size(), 0);
    for (const Block& block : out_.blocks) {
      if (block.exit == ExitKind::ForIter) is_iterator[block.operands[0].index()] = 1;
      if (!has_async_loop_) continue;
      for (const ValueId item : block.items) {
        const bool asks = is_op(out_[item], Op::GetAnext);
        if (asks) is_iterator[out_.operands(item)[0].index()] = 1;
      }
    }
    for (const BlockId id : with_drops_) {
      std::erase_if(out_.blocks[id.index()].items, [&](ValueId item) {
        Value& value = out_[item];
        const bool again = drops(value, Dropped::Used);
        if (!again && !drops(value, Dropped::Result)) return false;
        // Known as such only now, after a loop: dropping it is silent.
        const ValueKind kind = out_[out_.operands(item)[0]].kind;
        if (kind == ValueKind::Exception || kind == ValueKind::Null) return true;
        const bool is_drop = is_iterator[out_.operands(item)[0].index()] != 0;
        if (is_drop) value.b = static_cast<uint32_t>(Dropped::Iterator);
        return again && !is_drop;
      });
    }
  }

  void count_uses() {
    for (Block& block : out_.blocks) {
      for (const ValueId item : block.items) {
        for (const ValueId id : out_.operands(item)) ++out_[id].uses;
      }
      for (const ValueId id : block.operands) {
        if (block.exit == ExitKind::ForIter && id != block.operands[0]) continue;  // a result
        ++out_[id].uses;
      }
      for (const Edge& edge : block.next) {
        for (const ValueId id : edge.args) ++out_[id].uses;
      }
    }
  }

  ValueId new_phi(uint32_t offset) {
    Value phi;
    phi.kind = ValueKind::Phi;
    phi.offset = offset;
    out_.values.push_back(phi);
    used_.resize(out_.values.size(), 0);
    return ValueId(out_.values.size() - 1);
  }

  const flow::Graph& graph_;
  bool by_slots_;  // every stack slot is a parameter of every block
  Ways ways_;
  BlockId current_;             // the block that is lifted
  std::vector<ValueId> stack_;  // the memory of its stack
  bool has_async_loop_ = false;
  std::vector<BlockId> with_drops_;  // blocks whose StackMachine::has_drops is set
  Function out_;
  std::vector<uint8_t> used_;                               // StackMachine's marks, by value
  std::vector<std::array<std::vector<ValueId>, 2>> exits_;  // the stack on each edge, by block
  std::vector<std::vector<uint32_t>> slots_;                // the stack slot of each parameter
  std::vector<uint8_t> done_;
  std::vector<Kept> kept_;  // slots in which a handler finds one of several values
};

}  // namespace

Result<Function> lift(const flow::Graph& graph) { return Lifter(graph, false).run(); }

Result<Function> lift_slots(const flow::Graph& graph) {
  const flow::Graph steady = split_for_slots(graph);
  return Lifter(steady, true).run();
}

}  // namespace pellucid::ir
