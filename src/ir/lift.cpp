// SPDX-License-Identifier: Apache-2.0
#include "ir/lift.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <unordered_set>

#include "base/check.h"
#include "ir/phis.h"
#include "ir/split.h"
#include "ir/stack_machine.h"

namespace pellucid::ir {

namespace {

// Returns the blocks in reverse postorder, in which each comes after at least one predecessor.
std::vector<BlockId> order_of(const flow::Graph& graph) {
  const size_t count = graph.blocks.size();
  if (count == 1) return {BlockId(0u)};
  std::vector<uint8_t> seen(count, 0);
  std::vector<BlockId> order(count);
  size_t first = count;  // of the blocks that have their place
  struct Frame {
    BlockId block;
    uint32_t tried;  // ways out of it
  };
  std::vector<Frame> stack;
  stack.reserve(count);
  stack.push_back({BlockId(0u), 0});
  seen[0] = 1;
  while (!stack.empty()) {
    Frame& frame = stack.back();
    const flow::Block& block = graph[frame.block];
    // The handler is visited first, so that it comes last: after the code that it protects. The far
    // target comes before the other one, so that the block laid out next comes right after this
    // one.
    const BlockId entry = block.handler.valid() ? graph[block.handler].entry : BlockId();
    const std::array<BlockId, 3> ways = {entry, block.exit.next[1], block.exit.next[0]};
    BlockId next;
    while (frame.tried < ways.size() && !next.valid()) {
      const BlockId way = ways[frame.tried++];
      if (way.valid() && !seen[way.index()]) next = way;
    }
    if (next.valid()) {
      seen[next.index()] = 1;
      stack.push_back({next, 0});
    } else {
      order[--first] = frame.block;
      stack.pop_back();
    }
  }
  order.erase(order.begin(), order.begin() + static_cast<ptrdiff_t>(first));
  return order;
}

class Lifter {
 public:
  Lifter(const flow::Graph& graph, bool slots)
      : graph_(graph),
        by_slots_(slots),
        ways_(graph),
        machine_(out_, slots),
        states_(graph.blocks.size()) {
    // About one per instruction.
    out_.values.reserve(graph.instrs.size() + 2 * graph.blocks.size());
    out_.operand_pool.reserve(graph.instrs.size());
    out_.values.emplace_back().kind = ValueKind::Null;
    out_.code = graph.code;
    out_.handlers = graph.handlers;
    out_.wraps_stop_iteration = graph.wraps_stop_iteration;
    out_.marks_ends = graph.marks_ends;
    out_.marks_empty_bodies = graph.marks_empty_bodies;
    out_.folds = graph.folds;
    out_.habits = graph.habits;
    out_.blocks.resize(graph.blocks.size());
  }

  Result<Function> run() {
    for (const BlockId id : order_of(graph_)) {
      if (auto error = enter(id)) return *error;
      const flow::Block& block = graph_[id];
      out_.blocks[id.index()].items.reserve(block.count);
      machine_.begin(id, settled_before(id));
      machine_.run(std::span(graph_.instrs).subspan(block.first, block.count));
      leave(id);
      states_[id.index()].is_done = true;
    }
    if (has_params_) {
      for (size_t i = 0; i < out_.blocks.size(); ++i) {
        for (uint8_t k = 0; k < 2; ++k) fill_arguments(BlockId(i), k);
      }
    }
    settle_uses();
    if (!by_slots_) {
      if (auto error = changed_below_handler()) return *error;
    }
    return std::move(out_);
  }

 private:
  // A stack, or the lower part of one: a part of `kept_stacks_`.
  struct KeptStack {
    uint32_t begin = 0;
    uint32_t size = 0;
  };
  // What is known of a block.
  struct State {
    bool is_done = false;
    std::array<KeptStack, 2> left;  // the stack on each edge
    uint32_t first_slot = 0;        // of its parameters, in `param_slots_`
  };

  KeptStack keep(const std::vector<ValueId>& stack) {
    const KeptStack kept{static_cast<uint32_t>(kept_stacks_.size()),
                         static_cast<uint32_t>(stack.size())};
    kept_stacks_.insert(kept_stacks_.end(), stack.begin(), stack.end());
    return kept;
  }

  // Returns the stack on an edge out of a block that is done.
  std::span<const ValueId> left_by(BlockId from, uint8_t edge) const {
    const KeptStack& kept = states_[from.index()].left[edge];
    return std::span(kept_stacks_).subspan(kept.begin, kept.size);
  }

  bool is_done(BlockId id) const { return states_[id.index()].is_done; }

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
    states_[id.index()].first_slot = static_cast<uint32_t>(param_slots_.size());
    const std::span<const Way> ways = ways_.normal[id];
    const std::span<const Protected> regions = ways_.protected_by(id);
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
    if (source.depth == 0) return std::nullopt;
    if (ways.size() == 1 && is_done(ways[0].from)) {
      const std::span<const ValueId> stack = left_by(ways[0].from, ways[0].edge);
      block.entry_stack.assign(stack.begin(), stack.end());
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
    if (!is_done(way.from)) return {};
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
    param_slots_.push_back(slot);
    block.entry_stack.push_back(phi);
    has_params_ = true;
  }

  void enter_handler(BlockId id, std::span<const Protected> regions) {
    Block& block = out_.blocks[id.index()];
    const flow::Handler& handler = graph_[regions[0].handler];
    for (uint32_t slot = 0; slot < handler.depth; ++slot) {
      ValueId kept;
      bool differs = false;
      for (const Protected& region : regions) {
        if (!is_done(region.block)) continue;
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
  }

  // Returns an error if a handler can find different values in a slot that it keeps, from whichever
  // block of its region, later ones included.
  std::optional<Error> changed_below_handler() const {
    if (graph_.handlers.empty()) return std::nullopt;
    for (size_t b = 0; b < out_.blocks.size(); ++b) {
      const auto& kept = out_.blocks[b].entry_stack;
      for (const Protected& region : ways_.protected_by(BlockId(b))) {
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
      if (!is_done(way.from)) return {};
      const std::span<const ValueId> stack = left_by(way.from, way.edge);
      if (slot >= stack.size()) return {};
      if (!common.valid()) common = stack[slot];
      if (common != stack[slot]) return {};
    }
    return common;
  }

  void leave(BlockId id) {
    Block& block = out_.blocks[id.index()];
    const flow::Exit& exit = graph_[id].exit;
    block.exit = exit.kind;
    block.jump = exit.jump;
    block.is_lost_test = exit.kind == ExitKind::Branch && exit.instr.b == flow::kLostTest;
    block.exit_offset = exit.instr.offset;
    block.exit_line = exit.instr.line;
    for (int k = 0; k < 2; ++k) block.next[k].to = exit.next[k];
    auto& left = states_[id.index()].left;
    switch (exit.kind) {
      case ExitKind::Goto:
        break;
      case ExitKind::Branch:
      case ExitKind::BranchNone:
      case ExitKind::Return:
        block.operands.push_back(machine_.pop_used());
        break;
      case ExitKind::ForIter: {
        const uint32_t slots = 1 + exit.instr.b;
        const ValueId iterator = machine_.peek(slots);
        machine_.use(iterator);
        machine_.mark_iterator(iterator);
        Value item;
        item.kind = ValueKind::Item;
        item.offset = exit.instr.offset;
        item.line = exit.instr.line;
        const ValueId next = machine_.make(item, {iterator});
        block.operands = {iterator, next};
        machine_.stack.push_back(next);
        left[0] = keep(machine_.stack);
        left[1] = {left[0].begin, left[0].size - 1 - slots};
        return;
      }
      case ExitKind::Send: {
        const ValueId sent = machine_.pop_used();
        const ValueId receiver = machine_.peek(exit.instr.b == 2 ? 2 : 1);
        machine_.use(receiver);
        block.operands = {receiver, sent};
        Value value;
        value.kind = ValueKind::Sent;
        value.offset = exit.instr.offset;
        value.line = exit.instr.line;
        machine_.stack.push_back(machine_.make(value, {receiver, sent}));
        left[0] = left[1] = keep(machine_.stack);
        return;
      }
      case ExitKind::Raise:
      case ExitKind::Reraise:
        for (uint32_t i = 0; i < exit.instr.a; ++i) block.operands.push_back(machine_.pop_used());
        std::reverse(block.operands.begin(), block.operands.end());
        // After the handler nothing of its exception is left.
        if (exit.kind == ExitKind::Reraise && exit.next[0].valid()) {
          machine_.stack.resize(graph_[exit.next[0]].depth);
        }
        break;
    }
    if (machine_.stack.empty()) return;
    if (exit.next[0].valid() || exit.next[1].valid()) left[0] = left[1] = keep(machine_.stack);
  }

  void fill_arguments(BlockId id, uint8_t k) {
    Edge& edge = out_.blocks[id.index()].next[k];
    if (!edge.to.valid()) return;
    const std::span<const ValueId> stack = left_by(id, k);
    const size_t count = out_.blocks[edge.to.index()].params.size();
    const uint32_t first = states_[edge.to.index()].first_slot;
    for (const uint32_t slot : std::span(param_slots_).subspan(first, count)) {
      PELLUCID_CHECK(slot < stack.size());
      edge.args.push_back(stack[slot]);
    }
  }

  // Removes the phis that are none, and counts the uses of values.
  void settle_uses() {
    // The machine has counted the uses by what it has seen.
    bool has_changed = true;
    if (by_slots_) {
      find_nulls(out_, ways_);
    } else if (has_params_ || !kept_.empty()) {
      remove_trivial_phis(out_, ways_, kept_);
    } else if (machine_.calls_null) {
      drop_nulls(out_);
    } else {
      has_changed = false;
    }
    has_changed = mark_dropped_iterators() || has_changed;
    if (has_changed) count_uses(out_);
  }

  // Returns the iterators of loops, by value; nothing if there is no loop.
  std::vector<uint8_t> iterators() const {
    std::vector<uint8_t> found;
    const auto add = [&](ValueId iterator) {
      found.resize(out_.values.size(), 0);
      found[iterator.index()] = 1;
    };
    for (const Block& block : out_.blocks) {
      if (block.exit == ExitKind::ForIter) add(block.operands[0]);
      if (!machine_.has_async_loop) continue;
      for (const ValueId item : block.items) {
        if (is_op(out_[item], Op::GetAnext)) add(out_.operands(item)[0]);
      }
    }
    return found;
  }

  // Corrects drops of an outer loop's iterator: while that was a phi, they looked like expression
  // statements, or like nothing at all. Returns true if it has removed any.
  bool mark_dropped_iterators() {
    if (machine_.dropped.empty()) return false;
    const std::vector<uint8_t> is_iterator = iterators();
    std::vector<BlockId> blocks;  // those with drops to remove
    std::unordered_set<ValueId> removed;
    for (const auto& [block, item] : machine_.dropped) {
      Value& drop = out_[item];
      const ValueId what = out_.operands(drop)[0];
      // Known as such only now, after a loop: dropping it is silent.
      const ValueKind kind = out_[what].kind;
      const bool is_silent = kind == ValueKind::Exception || kind == ValueKind::Null;
      const bool ends_loop = !is_silent && !is_iterator.empty() && is_iterator[what.index()];
      if (is_silent || (drops(drop, Dropped::Used) && !ends_loop)) {
        if (blocks.empty() || blocks.back() != block) blocks.push_back(block);
        removed.insert(item);
      }
      if (ends_loop) drop.b = static_cast<uint32_t>(Dropped::Iterator);
    }
    for (const BlockId id : blocks) {
      std::erase_if(out_.blocks[id.index()].items,
                    [&](ValueId item) { return removed.contains(item); });
    }
    return !blocks.empty();
  }

  ValueId new_phi(uint32_t offset) {
    Value phi;
    phi.kind = ValueKind::Phi;
    phi.offset = offset;
    out_.values.push_back(phi);
    return ValueId(out_.values.size() - 1);
  }

  const flow::Graph& graph_;
  bool by_slots_;  // every stack slot is a parameter of every block
  Ways ways_;
  Function out_;
  StackMachine machine_;
  std::vector<State> states_;  // by block
  std::vector<ValueId> kept_stacks_;
  std::vector<uint32_t> param_slots_;  // the stack slot of each parameter
  bool has_params_ = false;
  std::vector<Kept> kept_;  // slots in which a handler finds one of several values
};

}  // namespace

Result<Function> lift(const flow::Graph& graph) { return Lifter(graph, false).run(); }

Result<Function> lift_slots(const flow::Graph& graph) {
  const flow::Graph steady = split_for_slots(graph);
  return Lifter(steady, true).run();
}

}  // namespace pellucid::ir
