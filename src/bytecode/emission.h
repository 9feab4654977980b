// SPDX-License-Identifier: Apache-2.0
// What translate.cpp reads of raw instructions, and what it makes of them. Private to it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "bytecode/op_facts.h"
#include "bytecode/reach.h"
#include "bytecode/traits.h"
#include "bytecode/translate.h"

namespace pellucid::bytecode {

// The raw instruction that is translated, and those around it.
struct Spot {
  void go_to(size_t index) {
    at = index;
    here = raw.data() + index;
  }

  // Returns true if control falls from a raw instruction into the next one.
  bool falls_into_next(size_t index) const {
    if (facts.steps.empty()) return true;
    const Step& step = facts.steps[index];
    return step.falls && index + 1 < raw.size() && raw[index + 1].start == step.after;
  }
  // Returns the mark of a raw instruction; there is none past the last one.
  Mark mark_of(size_t index) const {
    return index < raw.size() ? traits[raw[index].opcode].mark : Mark::None;
  }
  // Returns the mark of the k-th raw instruction from here, if control falls through to it.
  Mark mark_at(size_t k) const;
  // The same, if it is reached only from the one before.
  Mark mark_after(size_t k) const {
    return at + k < raw.size() && !facts.is_target(at + k) ? mark_at(k) : Mark::None;
  }
  uint32_t raw_at(int64_t offset) const;

  // Returns the raw instruction that represents everything outside of the code, if it is a target.
  uint32_t outside() const;

  // Returns true if a LOAD_GLOBAL belongs to an `assert`. 3.8 has no instruction for its exception:
  // it is a global, as in a `raise`, on the line of the test and right after its jump; outside of
  // functions no other name is loaded so.
  bool asserts() const;

  // Returns true for a CALL after KW_NAMES, in 3.11 with a PRECALL between them.
  bool follows_kw_names() const;

  // Returns true if the instruction pops the exhausted iterator after END_FOR: 3.12's END_FOR pops
  // it itself.
  bool pops_after_end_for(Mark mark) const {
    if (code.version.minor == 12) return false;
    return mark == (code.version.minor == 13 ? Mark::PopTop : Mark::PopIter);
  }

  const object::Module& module;
  const object::Code& code;
  const std::vector<RawInstr>& raw;
  const RawFacts& facts;
  const TraitsTable& traits;
  size_t at = 0;
  const RawInstr* here = nullptr;  // the one at `at`
};

// The canonical instructions, emitted for the raw one at a spot. All functions return false after
// an error.
class Emission {
 public:
  // (Few instructions become more than one.)
  explicit Emission(const Spot& spot)
      : spot_(spot), room_(static_cast<uint32_t>(spot.raw.size() + spot.raw.size() / 4 + 1)) {
    made_.first.resize(spot.raw.size() + 1);
    made_.instrs.resize(room_);
  }

  bool fail(const char* what);

  bool emit(Op op, uint32_t a = 0, uint32_t b = 0) {
    // The top is 1: for 0 CPython reads past the end of its stack.
    if (a == 0 && facts_of(op).operand == Operand::Depth) return fail("no such place on the stack");
    if (count_ == room_) return emit_in_more_room(op, a, b);
    made_.instrs[count_++] = {
        op, a, b, static_cast<uint32_t>(spot_.at), spot_.here->offset, spot_.here->line};
    return true;
  }
  bool emit_const(Op op, uint32_t index) {
    if (index >= spot_.code.consts.size()) return fail("no such constant");
    return emit(op, spot_.code.consts[index].value);
  }
  bool emit_name(Op op, uint32_t index, uint32_t b = 0) {
    if (index >= spot_.code.names.size()) return fail("no such name");
    return emit(op, spot_.code.names[index].value, b);
  }
  bool emit_local(Op op, uint32_t index);
  bool emit_cell(Op op, uint32_t index);
  bool emit_jump(Op op, int64_t target, uint32_t b = 0);
  bool push_null_if(uint32_t flag) { return flag == 0 || emit(Op::PushNull); }

  bool attribute(uint32_t is_method, uint32_t index) {
    return emit_name(is_method ? Op::LoadMethod : Op::LoadAttr, index);
  }

  const Error& error() const { return error_; }

  // Returns the number of instructions so far.
  uint32_t count() const { return count_; }
  // Takes back all instructions from this one on.
  void cut(uint32_t first) {
    count_ = first;
    while (!made_.folds.empty() && made_.folds.back().raw >= spot_.at) made_.folds.pop_back();
  }

  // Notes that the next instruction stands for `count` raw ones, from the one at the spot on. This
  // is the only way to drop a raw instruction that can raise: its handler has to be that of the
  // others (protection.h).
  void fold(uint32_t count) {
    const auto at = static_cast<uint32_t>(spot_.at);
    const auto left = static_cast<uint32_t>(spot_.raw.size()) - at;
    made_.folds.push_back({at, std::min(count, left), count_});
  }

  // Notes that the next instruction is the first one of the raw one at the spot.
  void start_raw() { made_.first[spot_.at] = count_; }
  // Returns the index of a new fault, for an Unsayable.
  uint32_t add_fault(Fault fault) {
    made_.faults.push_back(std::move(fault));
    return static_cast<uint32_t>(made_.faults.size() - 1);
  }

  // Returns all that was emitted; nothing may be emitted afterwards.
  Translation finish() {
    made_.first.back() = count_;
    made_.instrs.resize(count_);
    // (At the end nothing may follow.)
    while (!made_.folds.empty() && made_.folds.back().instr >= count_) made_.folds.pop_back();
    return std::move(made_);
  }

 private:
  // (Growing in emit() itself would have every call save registers for it.)
  bool emit_in_more_room(Op op, uint32_t a, uint32_t b);

  const Spot& spot_;
  Translation made_;    // its list of instructions has room for more
  uint32_t count_ = 0;  // of its instructions
  uint32_t room_;
  Error error_;
};

}  // namespace pellucid::bytecode
