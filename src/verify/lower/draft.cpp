// SPDX-License-Identifier: Apache-2.0
#include "verify/lower/draft.h"

#include <utility>

#include "base/check.h"

namespace pellucid::verify::lower {

namespace {

// The `b` of a StoreFast that restores a variable after an inlined comprehension.
constexpr uint32_t kPutsBack = 1;

bool may_change_places(const Instr& instr) {
  return instr.op == Op::StoreFast || instr.op == Op::Pop;
}

bool is_nothing(const Instr& instr) { return instr.op == Op::Swap && instr.a == 1; }

// Returns the next instruction after `at` that may be reordered, on line `line` (any if negative);
// the end if another one comes first.
size_t next_store(const std::vector<Instr>& code, size_t at, int32_t line) {
  while (++at < code.size()) {
    if (line >= 0 && code[at].line != line) return code.size();
    if (is_nothing(code[at])) continue;
    return may_change_places(code[at]) ? at : code.size();
  }
  return code.size();
}

// Replaces a `SWAP n` before stores by reordering them, if they store to different locals (3.11+).
// (flowgraph.c: apply_static_swaps)
void spend_swaps(std::vector<Instr>& code, size_t from) {
  for (size_t i = from + 1; i-- > 0;) {
    if (code[i].op != Op::Swap || is_nothing(code[i])) {
      if (is_nothing(code[i]) || may_change_places(code[i])) continue;
      return;
    }
    const size_t first = next_store(code, i, -1);
    if (first == code.size()) return;
    size_t last = first;
    for (uint32_t count = code[i].a; count > 1; --count) {
      last = next_store(code, last, code[first].line);
      if (last == code.size()) return;
    }
    const auto clash = [&](const Instr& x, const Instr& y) {
      return x.op == Op::StoreFast && y.op == Op::StoreFast && x.a == y.a;
    };
    if (clash(code[first], code[last])) return;
    for (size_t k = first + 1; k < last; ++k) {
      if (clash(code[k], code[first]) || clash(code[k], code[last])) return;
    }
    code[i].a = 1;
    std::swap(code[first], code[last]);
  }
}

// Reorders stores as CPython's optimiser does; their order is observable.
void settle_stores(std::vector<Instr>& code, const Features& features) {
  // The first of two consecutive stores to one local is removed (3.13+), before any are reordered.
  for (size_t i = 0; features.drops_overwritten_stores && i + 1 < code.size(); ++i) {
    if (code[i].op != Op::StoreFast || code[i + 1].op != Op::StoreFast ||
        code[i].a != code[i + 1].a || code[i].line != code[i + 1].line || code[i].b == kPutsBack ||
        code[i + 1].b == kPutsBack) {
      continue;
    }
    code[i].op = Op::Pop;
    code[i].a = 0;
  }
  for (size_t i = 0; i < code.size(); ++i) {
    if (code[i].op == Op::Swap && !is_nothing(code[i])) spend_swaps(code, i);
  }
}

// Returns true if a block ends with a jump over an operand: `and`, `or`, a chain of comparisons.
bool tests_operand(const DraftBlock& block) {
  return block.exit.kind == flow::ExitKind::Branch && !block.instrs.empty() &&
         block.instrs.back().op == Op::Copy && block.instrs.back().a == 1;
}

// Marks branches that lose their handler to jump threading: a jump over an operand to a similar
// jump goes straight to the latter's target. (flowgraph.c: jump_thread)
void lose_tests(Draft& draft, const std::vector<Label>& order) {
  for (const Label id : order) {
    DraftBlock& block = draft[id];
    if (!tests_operand(block)) continue;
    const DraftBlock* to = &draft[block.exit.next[block.exit.jump]];
    while (to->instrs.empty() && to->exit.falls) to = &draft[to->exit.next[0]];
    const bool is_alike =
        to->instrs.size() == 1 && tests_operand(*to) && to->exit.jump == block.exit.jump;
    if (is_alike) block.exit.instr.b = flow::kLostTest;
  }
}

}  // namespace

Label Draft::add() {
  blocks_.emplace_back();
  return Label(blocks_.size() - 1);
}

HandlerId Draft::add(const flow::Handler& handler) {
  handlers_.push_back(handler);
  return HandlerId(handlers_.size() - 1);
}

DraftBlock& Draft::place(Label block, const Position& here) {
  order_.push_back(block);
  DraftBlock& placed = blocks_[block.index()];
  placed.handler = here.handler();
  if (placed.depth == DraftBlock::kUnknown) {
    placed.depth = here.depth;
    placed.exceptions = here.exceptions;
  }
  return placed;
}

void Draft::enter(Label block, const Position& from, bool live) {
  DraftBlock& to = blocks_[block.index()];
  if (to.depth == DraftBlock::kUnknown) {
    to.depth = from.depth;
    to.exceptions = from.exceptions;
  }
  if (live) PELLUCID_CHECK(to.depth == from.depth);
}

flow::Graph Draft::finish(object::CodeId code, const Features& features) {
  std::vector<bool> reached(blocks_.size(), false);
  std::vector<Label> work;
  if (features.folds_late) lose_tests(*this, order_);
  const auto reach = [&](Label block) {
    if (!block.valid() || reached[block.index()]) return;
    reached[block.index()] = true;
    work.push_back(block);
  };
  reach(order_[0]);
  while (!work.empty()) {
    const DraftBlock& block = blocks_[work.back().index()];
    work.pop_back();
    PELLUCID_CHECK(block.ended);
    for (Label next : block.exit.next) reach(next);
    if (block.handler.valid()) reach(handlers_[block.handler.index()].entry);
  }
  flow::Graph graph;
  graph.code = code;
  std::vector<Label> renamed(blocks_.size());
  uint32_t count = 0;
  size_t instructions = 0;
  for (Label id : order_) {
    if (!reached[id.index()]) continue;
    renamed[id.index()] = Label(count++);
    instructions += blocks_[id.index()].instrs.size();
  }
  graph.instrs.reserve(instructions);
  graph.blocks.reserve(count);
  for (Label id : order_) {
    if (!reached[id.index()]) continue;
    DraftBlock& draft = blocks_[id.index()];
    if (features.reorders_stores) settle_stores(draft.instrs, features);
    flow::Block block;
    block.first = static_cast<uint32_t>(graph.instrs.size());
    for (const Instr& instr : draft.instrs) {
      if (is_nothing(instr)) continue;
      graph.instrs.push_back(instr);
      if (instr.op == Op::StoreFast) graph.instrs.back().b = 0;
    }
    block.count = static_cast<uint32_t>(graph.instrs.size()) - block.first;
    block.exit = draft.exit;
    for (Label& next : block.exit.next) {
      if (next.valid()) next = renamed[next.index()];
    }
    block.handler = draft.handler;
    block.depth = draft.depth;
    block.exc_depth = draft.exceptions;
    block.offset = draft.instrs.empty() ? draft.exit.instr.offset : draft.instrs[0].offset;
    graph.blocks.push_back(block);
  }
  for (flow::Handler& handler : handlers_) {
    // An unreachable handler is never used.
    handler.entry =
        renamed[handler.entry.index()].valid() ? renamed[handler.entry.index()] : Label(0u);
  }
  graph.handlers = std::move(handlers_);
  return graph;
}

}  // namespace pellucid::verify::lower
