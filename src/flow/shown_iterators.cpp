// SPDX-License-Identifier: Apache-2.0
// Walks the graph with one flag per stack slot: whether it may hold what GET_ITER pushed.
#include "flow/shown_iterators.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/check.h"
#include "flow/draft.h"

namespace pellucid::flow {
namespace {

using Flags = std::vector<bool>;

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
  void arrive(BlockId to, const Flags& stack) {
    if (!to.valid()) return;
    Flags& entry = entries_[to.index()];
    bool is_new = !reached_[to.index()];
    reached_[to.index()] = true;
    entry.resize(graph_[to].depth, false);
    for (size_t slot = 0; slot < std::min(entry.size(), stack.size()); ++slot) {
      if (!stack[slot] || entry[slot]) continue;
      entry[slot] = true;
      is_new = true;
    }
    if (is_new) todo_.push_back(to);
  }

  // An exception leaves the slots below the handler's depth as they are.
  void keep(const Block& block, const Instr& instr, const Flags& stack) {
    if (!block.handler.valid() || !bytecode::can_raise(instr.op)) return;
    const Handler& handler = graph_[block.handler];
    const size_t count = std::min<size_t>(handler.depth, stack.size());
    arrive(handler.entry, Flags(stack.begin(), stack.begin() + static_cast<ptrdiff_t>(count)));
  }

  void walk(const Block& block, Flags stack) {
    for (uint32_t i = block.first; i < block.first + block.count; ++i) {
      keep(block, graph_.instrs[i], stack);
      step(graph_.instrs[i], stack);
    }
    if (block.exit.kind != ExitKind::Goto) keep(block, block.exit.instr, stack);
    leave(block.exit, stack);
  }

  static Flags::reference at(Flags& stack, size_t depth) {
    PELLUCID_CHECK(depth >= 1 && depth <= stack.size());
    return stack[stack.size() - depth];
  }

  void see(const Instr& instr, bool is_iterator) {
    if (!is_iterator || error_) return;
    error_ = Error{ErrorCode::Unsupported, instr.offset,
                   "flow: the iterator of a loop is used for something else at offset " +
                       std::to_string(instr.offset)};
  }

  void see_top(const Instr& instr, Flags& stack, size_t count) {
    for (size_t depth = 1; depth <= count; ++depth) see(instr, at(stack, depth));
  }

  void step(const Instr& instr, Flags& stack) {
    const bytecode::StackEffect effect = bytecode::stack_effect(instr);
    bool pushes_iterator = false;
    switch (instr.op) {
      case Op::Copy:
        stack.push_back(at(stack, instr.a));
        return;
      case Op::Swap: {
        const bool top = at(stack, 1);
        at(stack, 1) = static_cast<bool>(at(stack, instr.a));
        at(stack, instr.a) = top;
        return;
      }
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
        pushes_iterator = true;
        break;
      default:  // NOLINT: every other op looks at what it reaches
        see_top(instr, stack, reach_of(instr));
        break;
    }
    PELLUCID_CHECK(effect.pops <= stack.size());
    stack.resize(stack.size() - effect.pops);
    stack.resize(stack.size() + effect.pushes, pushes_iterator);
  }

  void leave(const Exit& exit, Flags& stack) {
    const auto shortened = [&](size_t pops) {
      PELLUCID_CHECK(pops <= stack.size());
      return Flags(stack.begin(), stack.end() - static_cast<ptrdiff_t>(pops));
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
  std::optional<Error> error_;
};

}  // namespace

std::optional<Error> find_shown_iterator(const Graph& graph) { return Walk(graph).run(); }

}  // namespace pellucid::flow
