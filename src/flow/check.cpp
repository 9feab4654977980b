// SPDX-License-Identifier: Apache-2.0
// Checks the invariants of graph.h.
#include "base/check.h"

#include <vector>

#include "bytecode/op_facts.h"
#include "flow/graph.h"

namespace pellucid::flow {
namespace {

class Checker {
 public:
  Checker(const object::Module& module, const Graph& graph) : module_(module), graph_(graph) {}

  void run() {
    PELLUCID_CHECK(graph_.code.index() < module_.codes.size());
    PELLUCID_CHECK(!graph_.blocks.empty());
    PELLUCID_CHECK(graph_.blocks[0].depth == 0 && graph_.blocks[0].exc_depth == 0);
    for (const Handler& handler : graph_.handlers) check_handler(handler);
    uint32_t first = 0;
    for (const Block& block : graph_.blocks) {
      PELLUCID_CHECK(block.first == first);
      first += block.count;
      PELLUCID_CHECK(first <= graph_.instrs.size());
      check_shape(block.exit);
      check_stack(block);
    }
    PELLUCID_CHECK(first == graph_.instrs.size());
    check_order();
    check_reachable();
  }

 private:
  void check_handler(const Handler& handler) {
    PELLUCID_CHECK(handler.entry.index() < graph_.blocks.size());
    const Block& entry = graph_[handler.entry];
    PELLUCID_CHECK(entry.depth == handler.depth + handler.pushes);
    PELLUCID_CHECK(entry.exc_depth == handler.exc_depth);
    PELLUCID_CHECK(handler.pushes == 6 || handler.pushes == (handler.lasti ? 2 : 1));
  }

  void check_shape(const Exit& exit) {
    size_t ways = 0;
    switch (exit.kind) {
      case ExitKind::Goto:
        ways = 1;
        break;
      case ExitKind::Branch:
      case ExitKind::BranchNone:
      case ExitKind::ForIter:
      case ExitKind::Send:
        ways = 2;
        break;
      case ExitKind::Return:
      case ExitKind::Raise:
      case ExitKind::Reraise:
        ways = 0;
        break;
    }
    const bool keeps_end = graph_.marks_ends && exit.kind == ExitKind::Reraise;
    if (keeps_end && exit.next[0].valid()) ways = 1;
    for (size_t i = 0; i < exit.next.size(); ++i) {
      PELLUCID_CHECK(exit.next[i].valid() == (i < ways));
      PELLUCID_CHECK(i >= ways || exit.next[i].index() < graph_.blocks.size());
    }
    PELLUCID_CHECK(exit.jump <= 1 && (exit.kind == ExitKind::Goto || !exit.falls));
  }

  // Runs the block on stack depths alone.
  void check_stack(const Block& block) {
    uint32_t depth = block.depth;
    uint32_t exceptions = block.exc_depth;
    for (uint32_t i = block.first; i < block.first + block.count; ++i) {
      const Instr& instr = graph_.instrs[i];
      const bytecode::Role role = bytecode::facts_of(instr.op).role;
      PELLUCID_CHECK(role == bytecode::Role::Plain || role == bytecode::Role::Own);
      const bytecode::StackEffect effect = bytecode::effect_of(instr);
      PELLUCID_CHECK(effect.pops <= depth);
      if (bytecode::facts_of(instr.op).raises) check_protected(block, depth);
      depth = depth - effect.pops + effect.pushes;
      if (instr.op == Op::PushExcInfo) ++exceptions;
      if (instr.op == Op::PopExcept || (instr.op == Op::EndAsyncFor && instr.a == 7)) {
        PELLUCID_CHECK(exceptions > 0);
        --exceptions;
      }
    }
    const Exit& exit = block.exit;
    const auto goes = [&](size_t way, uint32_t pops, uint32_t pushes) {
      PELLUCID_CHECK(pops <= depth);
      if (!exit.next[way].valid()) return;
      PELLUCID_CHECK(graph_[exit.next[way]].depth == depth - pops + pushes);
      PELLUCID_CHECK(graph_[exit.next[way]].exc_depth == exceptions);
    };
    switch (exit.kind) {
      case ExitKind::Goto:
        goes(0, 0, 0);
        return;
      case ExitKind::Branch:
      case ExitKind::BranchNone:
        goes(0, 1, 0);
        goes(1, 1, 0);
        return;
      case ExitKind::ForIter:
        goes(0, 1 + exit.instr.b, 2 + exit.instr.b);
        goes(1, 1 + exit.instr.b, 0);
        return;
      case ExitKind::Send:
        goes(0, 2, 2);
        goes(1, 2, exit.instr.b == 1 ? 1 : 2);
        return;
      case ExitKind::Return:
        goes(0, 1, 0);
        return;
      case ExitKind::Raise:
        goes(0, exit.instr.a, 0);
        return;
      case ExitKind::Reraise:
        PELLUCID_CHECK(exit.instr.a <= depth);
        PELLUCID_CHECK(!exit.next[0].valid() || graph_[exit.next[0]].depth <= depth);
        return;
    }
  }

  void check_protected(const Block& block, uint32_t depth) {
    PELLUCID_CHECK(!block.handler.valid() || block.handler.index() < graph_.handlers.size());
    PELLUCID_CHECK(!block.handler.valid() || graph_[block.handler].depth <= depth);
  }

  // The entry may be anywhere: the bytecode may begin with a jump.
  void check_order() {
    for (size_t i = 2; i < graph_.blocks.size(); ++i)
      PELLUCID_CHECK(graph_.blocks[i - 1].offset <= graph_.blocks[i].offset);
  }

  void check_reachable() {
    std::vector<bool> reached(graph_.blocks.size());
    std::vector<bool> used(graph_.handlers.size());
    std::vector<BlockId> work;
    const auto reach = [&](BlockId block) {
      PELLUCID_CHECK(!is_entry(block));
      if (reached[block.index()]) return;
      reached[block.index()] = true;
      work.push_back(block);
    };
    reached[0] = true;
    work.emplace_back(0u);
    while (!work.empty()) {
      const Block& block = graph_[work.back()];
      work.pop_back();
      for (const BlockId next : block.exit.next)
        if (next.valid()) reach(next);
      if (!block.handler.valid()) continue;
      used[block.handler.index()] = true;
      reach(graph_[block.handler].entry);
    }
    for (const bool it : reached) PELLUCID_CHECK(it);
    for (const bool it : used) PELLUCID_CHECK(it);
  }

  static bool is_entry(BlockId block) { return block.index() == 0; }

  const object::Module& module_;
  const Graph& graph_;
};

}  // namespace

void check(const object::Module& module, const Graph& graph) { Checker(module, graph).run(); }

}  // namespace pellucid::flow
