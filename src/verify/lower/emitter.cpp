// SPDX-License-Identifier: Apache-2.0
#include "verify/lower/emitter.h"

#include <utility>

#include "base/check.h"

namespace pellucid::verify::lower {

namespace {

// Not the line of any statement.
constexpr int32_t kNoLine = 0x7fffffff;

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

}  // namespace

Emitter::Emitter(const Features& features)
    : features_(features), block_stack_(!features.exceptions_are_one_value) {
  start(label());
  now().depth = 0;
}

Label Emitter::label() {
  blocks_.emplace_back();
  return Label(blocks_.size() - 1);
}

void Emitter::start(Label block) {
  current_ = block;
  order_.push_back(block);
  Draft& draft = now();
  draft.handler = handler();
  if (draft.depth == kUnknown) {
    draft.depth = depth_;
    draft.exceptions = exceptions_;
  }
  depth_ = draft.depth;
  exceptions_ = draft.exceptions;
}

void Emitter::start_anew() {
  const Label next = label();
  if (live_) {
    leads_to(next);
    flow::Exit exit;
    exit.falls = true;
    exit.next[0] = next;
    exit.instr = instr(Op::Jump, 0, 0);
    now().exit = exit;
    now().ended = true;
  }
  start(next);
}

void Emitter::leads_to(Label label) {
  Draft& to = blocks_[label.index()];
  if (to.depth == kUnknown) {
    to.depth = depth_;
    to.exceptions = exceptions_;
  }
  if (live_) PELLUCID_CHECK(to.depth == depth_);
}

void Emitter::end(flow::Exit exit) {
  Draft& draft = now();
  if (!draft.ended) {
    draft.exit = exit;
    draft.ended = true;
  }
  live_ = false;
}

Instr Emitter::instr(Op op, uint32_t a, uint32_t b) const {
  Instr made;
  made.op = op;
  made.a = a;
  made.b = b;
  made.offset = offset_;
  made.line = statement_;
  return made;
}

// Reorders stores as CPython's optimiser does; their order is observable.
void Emitter::settle_stores(std::vector<Instr>& code) const {
  // The first of two consecutive stores to one local is removed (3.13+), before any are reordered.
  for (size_t i = 0; features_.drops_overwritten_stores && i + 1 < code.size(); ++i) {
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

void Emitter::place(Label label) {
  if (live_) {
    leads_to(label);
    flow::Exit exit;
    exit.falls = true;
    exit.next[0] = label;
    exit.instr = instr(Op::Jump, 0, 0);
    end(exit);
  }
  start(label);
  live_ = true;
}

void Emitter::op(Op op, uint32_t a, uint32_t b) {
  const Instr made = instr(op, a, b);
  const bytecode::StackEffect moves = bytecode::stack_effect(made);
  PELLUCID_CHECK(depth_ >= moves.pops);
  depth_ = depth_ - moves.pops + moves.pushes;
  if (op == Op::PushExcInfo) ++exceptions_;
  if (op == Op::PopExcept || (op == Op::EndAsyncFor && block_stack_)) {
    PELLUCID_CHECK(exceptions_ > 0);
    --exceptions_;
  }
  ++written_;
  if (live_) now().instrs.push_back(made);
}

void Emitter::drop() {
  op(Op::Pop);
  if (live_ && !features_.dropped_values_have_lines) now().instrs.back().line = kNoLine;
}

void Emitter::jump(Label to) {
  leads_to(to);
  flow::Exit exit;
  exit.next[0] = to;
  exit.instr = instr(Op::Jump, 0, 0);
  if (live_) end(exit);
}

void Emitter::two_way(ExitKind kind, bool when, Label to) {
  PELLUCID_CHECK(depth_ > 0);
  --depth_;
  ++written_;
  leads_to(to);
  if (!live_) return;
  const Label next = label();
  leads_to(next);
  flow::Exit exit;
  exit.kind = kind;
  exit.jump = when ? 0 : 1;
  exit.next[exit.jump] = to;
  exit.next[1 - exit.jump] = next;
  exit.instr = instr(kind == ExitKind::Branch ? (when ? Op::BranchTrue : Op::BranchFalse)
                                              : (when ? Op::BranchNone : Op::BranchNotNone),
                     0, 0);
  end(exit);
  start(next);
  live_ = true;
}

void Emitter::branch(bool when, Label to) { two_way(ExitKind::Branch, when, to); }
void Emitter::branch_none(bool when, Label to) { two_way(ExitKind::BranchNone, when, to); }

void Emitter::for_iter(Label exhausted, uint32_t slots) {
  PELLUCID_CHECK(depth_ >= slots);
  ++written_;
  depth_ -= slots;
  leads_to(exhausted);
  depth_ += slots + 1;
  if (!live_) return;
  const Label next = label();
  leads_to(next);
  flow::Exit exit;
  exit.kind = ExitKind::ForIter;
  exit.jump = 1;
  exit.next = {next, exhausted};
  exit.instr = instr(Op::ForIter, 0, slots - 1);
  end(exit);
  start(next);
  live_ = true;
}

void Emitter::give_back() {
  PELLUCID_CHECK(depth_ > 0);
  --depth_;
  ++written_;
  flow::Exit exit;
  exit.kind = ExitKind::Return;
  exit.instr = instr(Op::ReturnValue, 0, 0);
  if (live_) end(exit);
}

void Emitter::raise(uint32_t values) {
  PELLUCID_CHECK(depth_ >= values);
  depth_ -= values;
  ++written_;
  flow::Exit exit;
  exit.kind = ExitKind::Raise;
  exit.instr = instr(Op::Raise, values, 0);
  if (live_) end(exit);
}

void Emitter::reraise(bool lasti) {
  const uint32_t slots = block_stack_ ? 3 : 1;
  PELLUCID_CHECK(depth_ >= slots);
  flow::Exit exit;
  exit.kind = ExitKind::Reraise;
  exit.instr = instr(Op::Reraise, slots, lasti && !block_stack_ ? 2 : 0);
  depth_ -= slots;
  ++written_;
  if (live_) end(exit);
}

void Emitter::protect(Label entry, bool lasti, uint32_t above) {
  flow::Handler made;
  made.entry = entry;
  made.depth = depth_ - above;
  made.lasti = lasti && !block_stack_;
  made.pushes = block_stack_ ? 6 : made.lasti ? 2 : 1;
  made.exc_depth = exceptions_ + (block_stack_ ? 1 : 0);
  Draft& target = blocks_[entry.index()];
  target.depth = made.depth + made.pushes;
  target.exceptions = made.exc_depth;
  handlers_.push_back(made);
  regions_.push_back(HandlerId(handlers_.size() - 1));
  start_anew();
}

void Emitter::unprotect() {
  PELLUCID_CHECK(!regions_.empty());
  regions_.pop_back();
  start_anew();
}

void Emitter::place_handler(Label entry) {
  PELLUCID_CHECK(!live_);
  start(entry);
  live_ = true;
}

Label Emitter::reserve() {
  const Label reserved = label();
  place(reserved);
  place(label());
  return reserved;
}

void Emitter::write_at(Label reserved, const std::function<void()>& write) {
  const Label current = current_;
  const Place place = here();
  const bool live = live_;
  current_ = reserved;
  depth_ = now().depth;
  exceptions_ = now().exceptions;
  regions_.clear();
  live_ = true;
  write();
  PELLUCID_CHECK(current_ == reserved && depth_ == now().depth);
  current_ = current;
  depth_ = place.depth;
  exceptions_ = place.exceptions;
  regions_ = place.regions;
  live_ = live;
}

void Emitter::back_to(const Place& place) {
  PELLUCID_CHECK(!live_);
  depth_ = place.depth;
  exceptions_ = place.exceptions;
  regions_ = place.regions;
  start_anew();
}

bool Emitter::tests_operand(const Draft& block) const {
  return block.exit.kind == ExitKind::Branch && !block.instrs.empty() &&
         block.instrs.back().op == Op::Copy && block.instrs.back().a == 1;
}

// Marks branches that lose their handler to jump threading: a jump over an operand to a similar
// jump goes straight to the latter's target. (flowgraph.c: jump_thread)
void Emitter::lose_tests() {
  for (const Label id : order_) {
    Draft& block = blocks_[id.index()];
    if (!tests_operand(block)) continue;
    const Draft* to = &blocks_[block.exit.next[block.exit.jump].index()];
    while (to->instrs.empty() && to->exit.falls) to = &blocks_[to->exit.next[0].index()];
    const bool is_alike =
        to->instrs.size() == 1 && tests_operand(*to) && to->exit.jump == block.exit.jump;
    if (is_alike) block.exit.instr.b = flow::kLostTest;
  }
}

flow::Graph Emitter::finish(object::CodeId code) {
  std::vector<bool> reached(blocks_.size(), false);
  std::vector<Label> work;
  if (features_.folds_late) lose_tests();
  const auto reach = [&](Label block) {
    if (!block.valid() || reached[block.index()]) return;
    reached[block.index()] = true;
    work.push_back(block);
  };
  reach(order_[0]);
  while (!work.empty()) {
    const Draft& block = blocks_[work.back().index()];
    work.pop_back();
    PELLUCID_CHECK(block.ended);
    for (Label next : block.exit.next) reach(next);
    if (block.handler.valid()) reach(handlers_[block.handler.index()].entry);
  }
  flow::Graph graph;
  graph.code = code;
  std::vector<Label> renamed(blocks_.size());
  uint32_t count = 0;
  for (Label id : order_) {
    if (reached[id.index()]) renamed[id.index()] = Label(count++);
  }
  for (Label id : order_) {
    if (!reached[id.index()]) continue;
    Draft& draft = blocks_[id.index()];
    if (features_.reorders_stores) settle_stores(draft.instrs);
    flow::Block block;
    block.first = static_cast<uint32_t>(graph.instrs.size());
    block.count = static_cast<uint32_t>(draft.instrs.size());
    block.exit = draft.exit;
    for (Label& next : block.exit.next) {
      if (next.valid()) next = renamed[next.index()];
    }
    block.handler = draft.handler;
    block.depth = draft.depth;
    block.exc_depth = draft.exceptions;
    block.offset = draft.instrs.empty() ? draft.exit.instr.offset : draft.instrs[0].offset;
    graph.instrs.insert(graph.instrs.end(), draft.instrs.begin(), draft.instrs.end());
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
