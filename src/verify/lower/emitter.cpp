// SPDX-License-Identifier: Apache-2.0
#include "verify/lower/emitter.h"

#include <utility>

#include "base/check.h"
#include "bytecode/op_facts.h"

namespace pellucid::verify::lower {

Emitter::Emitter(const Features& features)
    : features_(features), block_stack_(!features.exceptions_are_one_value) {
  start(label());
}

void Emitter::start(Label block) {
  current_ = block;
  const DraftBlock& placed = draft_.place(block, here_);
  here_.depth = placed.depth;
  here_.exceptions = placed.exceptions;
}

void Emitter::start_anew() {
  const Label next = label();
  if (live_) {
    draft_.enter(next, here_, live_);
    flow::Exit exit;
    exit.falls = true;
    exit.next[0] = next;
    exit.instr = lines.instr(Op::Jump, 0, 0);
    now().exit = exit;
    now().ended = true;
  }
  start(next);
}

void Emitter::end(flow::Exit exit) {
  DraftBlock& draft = now();
  if (!draft.ended) {
    draft.exit = exit;
    draft.ended = true;
  }
  live_ = false;
}

void Emitter::place(Label label) {
  if (live_) {
    draft_.enter(label, here_, live_);
    flow::Exit exit;
    exit.falls = true;
    exit.next[0] = label;
    exit.instr = lines.instr(Op::Jump, 0, 0);
    end(exit);
  }
  start(label);
  live_ = true;
}

void Emitter::op(Op op, uint32_t a, uint32_t b) {
  const Instr made = lines.instr(op, a, b);
  const bytecode::StackEffect moves = bytecode::effect_of(made);
  PELLUCID_CHECK(here_.depth >= moves.pops);
  here_.depth = here_.depth - moves.pops + moves.pushes;
  if (op == Op::PushExcInfo) ++here_.exceptions;
  if (op == Op::PopExcept || (op == Op::EndAsyncFor && block_stack_)) {
    PELLUCID_CHECK(here_.exceptions > 0);
    --here_.exceptions;
  }
  const bool is_local = bytecode::facts_of(op).operand == bytecode::Operand::Local;
  if (is_local && seen_locals_.insert(Symbol(a))) locals_.push_back(Symbol(a));
  if (!live_) return;
  draft_.append(current_, made);
}

void Emitter::jump(Label to) {
  draft_.enter(to, here_, live_);
  flow::Exit exit;
  exit.next[0] = to;
  exit.instr = lines.instr(Op::Jump, 0, 0);
  if (live_) end(exit);
}

void Emitter::two_way(ExitKind kind, bool when, Label to) {
  PELLUCID_CHECK(here_.depth > 0);
  --here_.depth;
  draft_.enter(to, here_, live_);
  if (!live_) return;
  const Label next = label();
  draft_.enter(next, here_, live_);
  flow::Exit exit;
  exit.kind = kind;
  exit.jump = when ? 0 : 1;
  exit.next[exit.jump] = to;
  exit.next[1 - exit.jump] = next;
  exit.instr = lines.instr(kind == ExitKind::Branch ? (when ? Op::BranchTrue : Op::BranchFalse)
                                                    : (when ? Op::BranchNone : Op::BranchNotNone),
                           0, 0);
  end(exit);
  start(next);
  live_ = true;
}

void Emitter::branch(bool when, Label to) { two_way(ExitKind::Branch, when, to); }
void Emitter::branch_none(bool when, Label to) { two_way(ExitKind::BranchNone, when, to); }

void Emitter::for_iter(Label exhausted, uint32_t slots) {
  PELLUCID_CHECK(here_.depth >= slots);
  here_.depth -= slots;
  draft_.enter(exhausted, here_, live_);
  here_.depth += slots + 1;
  if (!live_) return;
  const Label next = label();
  draft_.enter(next, here_, live_);
  flow::Exit exit;
  exit.kind = ExitKind::ForIter;
  exit.jump = 1;
  exit.next = {next, exhausted};
  exit.instr = lines.instr(Op::ForIter, 0, slots - 1);
  end(exit);
  start(next);
  live_ = true;
}

void Emitter::give_back() {
  PELLUCID_CHECK(here_.depth > 0);
  --here_.depth;
  flow::Exit exit;
  exit.kind = ExitKind::Return;
  exit.instr = lines.instr(Op::ReturnValue, 0, 0);
  if (live_) end(exit);
}

void Emitter::raise(uint32_t values) {
  PELLUCID_CHECK(here_.depth >= values);
  here_.depth -= values;
  flow::Exit exit;
  exit.kind = ExitKind::Raise;
  exit.instr = lines.instr(Op::Raise, values, 0);
  if (live_) end(exit);
}

void Emitter::reraise(bool lasti, uint32_t above) {
  const uint32_t slots = block_stack_ ? 3 : 1;
  PELLUCID_CHECK(here_.depth >= slots);
  flow::Exit exit;
  exit.kind = ExitKind::Reraise;
  exit.instr = lines.instr(Op::Reraise, slots, lasti && !block_stack_ ? 2 + above : 0);
  here_.depth -= slots;
  if (live_) end(exit);
}

void Emitter::protect(Label entry, bool lasti, uint32_t above) {
  flow::Handler made;
  made.entry = entry;
  made.depth = here_.depth - above;
  made.lasti = lasti && !block_stack_;
  made.pushes = block_stack_ ? 6 : made.lasti ? 2 : 1;
  made.exc_depth = here_.exceptions + (block_stack_ ? 1 : 0);
  DraftBlock& target = draft_[entry];
  target.depth = made.depth + made.pushes;
  target.exceptions = made.exc_depth;
  here_.regions.push_back(draft_.add(made));
  start_anew();
}

void Emitter::unprotect() {
  PELLUCID_CHECK(!here_.regions.empty());
  here_.regions.pop_back();
  start_anew();
}

void Emitter::place_handler(Label entry) {
  PELLUCID_CHECK(!live_);
  start(entry);
  live_ = true;
}

std::vector<object::ConstId> Emitter::constants(uint32_t count) {
  std::vector<object::ConstId> found;
  const std::span<const Instr> code = draft_.code_of(current_);
  if (!live_ || count > code.size()) return found;
  for (const Instr& instr : code.last(count)) {
    if (instr.op != Op::LoadConst) return {};
    found.push_back(instr.constant());
  }
  return found;
}

std::vector<object::ConstId> Emitter::take_constants(uint32_t count) {
  const std::vector<object::ConstId> taken = constants(count);
  if (taken.empty()) return taken;
  draft_.drop(current_, count);
  here_.depth -= count;
  return taken;
}

void Emitter::only_mention(const std::function<void()>& write) {
  const Position before = here_;
  const Label after = label();
  const bool is_live = live_;
  jump(after);
  live_ = false;
  start(label());
  here_ = before;
  write();
  live_ = false;
  start(after);
  here_ = before;
  live_ = is_live;
}

Label Emitter::reserve() {
  const Label reserved = label();
  place(reserved);
  place(label());
  return reserved;
}

void Emitter::write_at(Label reserved, const std::function<void()>& write) {
  const Label current = std::exchange(current_, reserved);
  const bool live = std::exchange(live_, true);
  const Position position = std::exchange(here_, {now().depth, now().exceptions});
  draft_.reopen(reserved);
  write();
  PELLUCID_CHECK(current_ == reserved && here_.depth == now().depth);
  draft_.resume(current, reserved);
  current_ = current;
  live_ = live;
  here_ = position;
}

void Emitter::back_to(const Position& position) {
  PELLUCID_CHECK(!live_);
  here_ = position;
  start_anew();
}

}  // namespace pellucid::verify::lower
