// SPDX-License-Identifier: Apache-2.0
#include "bytecode/emission.h"

#include "bytecode/decode.h"

namespace pellucid::bytecode {

using object::LocalKind;

Mark Spot::mark_at(size_t k) const {
  if (at + k >= raw.size()) return Mark::None;
  for (size_t i = 0; i < k; ++i) {
    if (!falls_into_next(at + i)) return Mark::None;
  }
  return mark_of(at + k);
}

uint32_t Spot::raw_at(int64_t offset) const {
  const bool is_outside = offset < 0 || offset >= static_cast<int64_t>(code.bytecode.size());
  if (is_outside && !facts.steps.empty()) return outside();
  if (offset < 0 || offset % 2 != 0) return kNoRaw;
  const auto unit = static_cast<uint64_t>(offset) / 2;
  return unit < facts.at_unit.size() ? facts.at_unit[unit] : kNoRaw;
}

uint32_t Spot::outside() const {
  const bool is_there = !raw.empty() && raw.back().start >= code.bytecode.size() / 2 * 2;
  return is_there ? static_cast<uint32_t>(raw.size() - 1) : kNoRaw;
}

bool Spot::asserts() const {
  if (code.version.minor > 8 || mark_of(at) != Mark::LoadGlobal) return false;
  const uint32_t index = raw[at].arg;
  if (index >= code.names.size() || module.text(code.names[index]) != "AssertionError") {
    return false;
  }
  if ((code.flags & object::kOptimized) == 0) return true;
  if (at == 0 || raw[at - 1].line != raw[at].line) return false;
  const Mark before = mark_of(at - 1);
  return before == Mark::PopJumpIfTrue || before == Mark::PopJumpIfFalse ||
         before == Mark::PopTop || before == Mark::JumpForward || before == Mark::JumpAbsolute;
}

bool Spot::follows_kw_names() const {
  size_t before = at;
  do {
    if (before-- == 0 || !falls_into_next(before)) return false;
  } while (mark_of(before) == Mark::Precall);
  return mark_of(before) == Mark::KwNames;
}

bool Emission::fail(const char* what) {
  const RawInstr& instr = spot_.raw[spot_.at];
  error_ = Error{ErrorCode::Malformed, instr.offset,
                 "bytecode: " + std::string(raw_name(spot_.code.version, instr.opcode)) + ' ' +
                     std::to_string(instr.arg) + ": " + what + " at offset " +
                     std::to_string(instr.offset)};
  return false;
}

bool Emission::emit_in_more_room(Op op, uint32_t a, uint32_t b) {
  room_ = 2 * room_ + 1;
  made_.instrs.resize(room_);
  return emit(op, a, b);
}

bool Emission::emit_local(Op op, uint32_t index) {
  const bool since_311 = spot_.code.version.minor >= 11;
  const size_t count = since_311 ? spot_.code.localsplus.size() : spot_.code.varnames.size();
  if (index >= count) return fail("no such local");
  // In 3.11+ the slot of a cell holds the cell, and 3.13 loads it only so.
  const LocalKind kind = spot_.code.localspluskinds[index];
  const bool is_cell = since_311 && kind != LocalKind::Local && kind != LocalKind::Hidden;
  return emit(op == Op::LoadFast && is_cell ? Op::LoadClosure : op,
              spot_.code.localsplus[index].value);
}

bool Emission::emit_cell(Op op, uint32_t index) {
  if (spot_.code.version.minor >= 11) {
    if (index >= spot_.code.localsplus.size()) return fail("no such cell");
    return emit(op, spot_.code.localsplus[index].value);
  }
  const size_t cells = spot_.code.cellvars.size();
  if (index >= cells + spot_.code.freevars.size()) return fail("no such cell");
  return emit(
      op, (index < cells ? spot_.code.cellvars[index] : spot_.code.freevars[index - cells]).value);
}

bool Emission::emit_jump(Op op, int64_t target, uint32_t b) {
  const uint32_t index = spot_.raw_at(target);
  if (index == kNoRaw) return fail("jump to where no instruction starts");
  return emit(op, index, b);
}

}  // namespace pellucid::bytecode
