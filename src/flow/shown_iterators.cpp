// SPDX-License-Identifier: Apache-2.0
// Walks the graph with one flag per stack slot: whether it may hold what GET_ITER pushed.
#include "flow/shown_iterators.h"

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "bytecode/op_facts.h"
#include "flow/draft.h"

namespace pellucid::flow {
namespace {

using Flags = std::vector<uint8_t>;  // 1 or 0

class Walk {
 public:
  explicit Walk(const Graph& graph)
      : graph_(graph), entries_(graph.blocks.size()), reached_(graph.blocks.size(), false) {}

  std::optional<Error> run() {
    arrive(BlockId(0u), Flags());
    while (!todo_.empty() && !error_) {
      const BlockId id = todo_.back();
      todo_.pop_back();
      walk(graph_[id], entries_[id.index()]);
    }
    return error_;
  }

 private:
  void arrive(BlockId to, std::span<const uint8_t> stack) {
    if (!to.valid()) return;
    Flags& entry = entries_[to.index()];
    bool is_new = !reached_[to.index()];
    reached_[to.index()] = true;
    entry.resize(graph_[to].depth, 0);
    for (size_t slot = 0; slot < std::min(entry.size(), stack.size()); ++slot) {
      if (!stack[slot] || entry[slot]) continue;
      entry[slot] = 1;
      is_new = true;
    }
    if (is_new) todo_.push_back(to);
  }

  // An exception leaves the slots below the handler's depth as they are.
  void keep(const Block& block, const Instr& instr, const Flags& stack) {
    if (!block.handler.valid() || !bytecode::facts_of(instr.op).raises) return;
    const Handler& handler = graph_[block.handler];
    const size_t count = std::min<size_t>(handler.depth, stack.size());
    arrive(handler.entry, std::span(stack).first(count));
  }

  std::span<const Instr> instrs_of(const Block& block) const {
    return std::span(graph_.instrs).subspan(block.first, block.count);
  }

  // Returns true if no slot may hold an iterator anywhere in the block: so it is in most blocks.
  bool is_without_iterators(const Block& block, const Flags& entry) const {
    const std::span<const Instr> instrs = instrs_of(block);
    return std::find(entry.begin(), entry.end(), 1) == entry.end() &&
           std::none_of(instrs.begin(), instrs.end(), [](const Instr& instr) {
             return instr.op == Op::GetIter || instr.op == Op::GetYieldFromIter;
           });
  }

  // Does what walk() does with such a block.
  void pass(const Block& block) {
    const auto raises = [](const Instr& instr) { return bytecode::facts_of(instr.op).raises; };
    const std::span<const Instr> instrs = instrs_of(block);
    const bool may_raise =
        block.handler.valid() && (std::any_of(instrs.begin(), instrs.end(), raises) ||
                                  (block.exit.kind != ExitKind::Goto && raises(block.exit.instr)));
    if (may_raise) arrive(graph_[block.handler].entry, {});
    if (block.exit.kind == ExitKind::Raise || block.exit.kind == ExitKind::Reraise) return;
    for (const BlockId next : block.exit.next) arrive(next, {});
  }

  void walk(const Block& block, const Flags& entry) {
    if (is_without_iterators(block, entry)) return pass(block);
    Flags& stack = stack_;
    stack = entry;
    for (const Instr& instr : instrs_of(block)) {
      keep(block, instr, stack);
      step(instr, stack);
    }
    if (block.exit.kind != ExitKind::Goto) keep(block, block.exit.instr, stack);
    leave(block.exit, stack);
  }

  static uint8_t& at(Flags& stack, size_t depth) {
    PELLUCID_CHECK(depth >= 1 && depth <= stack.size());
    return stack[stack.size() - depth];
  }

  void see(const Instr& instr, uint8_t is_iterator) {
    if (is_iterator == 0 || error_) return;
    error_ = Error{ErrorCode::Unsupported, instr.offset,
                   "flow: the iterator of a loop is used for something else at offset " +
                       std::to_string(instr.offset)};
  }

  void see_top(const Instr& instr, Flags& stack, size_t count) {
    for (size_t depth = 1; depth <= count; ++depth) see(instr, at(stack, depth));
  }

  void step(const Instr& instr, Flags& stack) {
    const bytecode::StackEffect effect = bytecode::effect_of(instr);
    uint8_t pushes_iterator = 0;
    switch (instr.op) {
      case Op::Copy:
        stack.push_back(at(stack, instr.a));
        return;
      case Op::Swap:
        std::swap(at(stack, 1), at(stack, instr.a));
        return;
      case Op::Rot:
        PELLUCID_CHECK(instr.a >= 1 && instr.a <= stack.size());
        std::rotate(stack.end() - instr.a, stack.end() - 1, stack.end());
        return;
      case Op::Pop:
      case Op::CleanupThrow:
        break;
      case Op::YieldFrom:
        see(instr, at(stack, 1));
        break;
      case Op::ListAppend:
      case Op::SetAdd:
      case Op::MapAdd:
      case Op::ListExtend:
      case Op::SetUpdate:
      case Op::DictUpdate:
      case Op::DictMerge:
        // The iterators of a comprehension are between the container and the added value.
        see_top(instr, stack, effect.pops);
        see(instr, at(stack, effect.pops + instr.a));
        break;
      case Op::WithExceptStart:
        see(instr, at(stack, instr.a));
        break;
      case Op::GetIter:
      case Op::GetYieldFromIter:
        see_top(instr, stack, 1);
        pushes_iterator = 1;
        break;
      default:  // NOLINT: every other op looks at what it reaches
        see_top(instr, stack, reach_of(instr, effect.pops));
        break;
    }
    PELLUCID_CHECK(effect.pops <= stack.size());
    stack.erase(stack.end() - effect.pops, stack.end());
    stack.insert(stack.end(), effect.pushes, pushes_iterator);
  }

  void leave(const Exit& exit, Flags& stack) {
    const auto shortened = [&](size_t pops) {
      PELLUCID_CHECK(pops <= stack.size());
      return std::span<const uint8_t>(stack).first(stack.size() - pops);
    };
    switch (exit.kind) {
      case ExitKind::Goto:
        arrive(exit.next[0], stack);
        return;
      case ExitKind::ForIter:
        arrive(exit.next[0], stack);
        arrive(exit.next[1], shortened(1 + exit.instr.b));
        return;
      case ExitKind::Send:
        see_top(exit.instr, stack, 1);
        arrive(exit.next[0], shortened(1));
        arrive(exit.next[1], shortened(1));
        return;
      case ExitKind::Branch:
      case ExitKind::BranchNone:
      case ExitKind::Return:
        see_top(exit.instr, stack, 1);
        break;
      case ExitKind::Raise:
      case ExitKind::Reraise:
        see_top(exit.instr, stack, exit.instr.a);
        return;
    }
    for (const BlockId next : exit.next) arrive(next, shortened(1));
  }

  const Graph& graph_;
  std::vector<Flags> entries_;
  std::vector<bool> reached_;
  std::vector<BlockId> todo_;
  Flags stack_;  // in the block that is walked
  std::optional<Error> error_;
};

}  // namespace

std::optional<Error> find_shown_iterator(const Graph& graph) { return Walk(graph).run(); }

}  // namespace pellucid::flow
