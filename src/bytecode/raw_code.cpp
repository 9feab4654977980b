// SPDX-License-Identifier: Apache-2.0
#include "bytecode/raw_code.h"

#include <algorithm>

namespace pellucid::bytecode {

RawCode::RawCode(const object::Module& module, const Stream& stream)
    : module_(module),
      code_(module[stream.code]),
      stream_(stream),
      raw_(stream.raw),
      minor_(code_.version.minor) {
  if (raw_.empty()) return;
  const TraitsTable& traits = traits_of(code_.version);
  marks_.reserve(raw_.size());
  for (const RawInstr& instr : raw_) {
    const Mark mark = traits[instr.opcode].mark;
    marks_.push_back(mark);
    present_[static_cast<size_t>(mark)] = true;
  }
  find_targets();
  cover();
}

void RawCode::find_targets() {
  is_target_.assign(raw_.size() + 1, false);
  std::vector<bool> leads_to(code_.bytecode.size() + 1, false);  // by byte
  for (const RawInstr& instr : raw_) {
    const bool is_within = instr.target >= 0 && instr.target < std::ssize(leads_to);
    if (is_within) leads_to[static_cast<size_t>(instr.target)] = true;
  }
  for (const ExceptionEntry& entry : stream_.exceptions) {
    is_target_[stream_.instrs[entry.target].raw] = true;
  }
  for (size_t i = 0; i < raw_.size(); ++i) {
    if (leads_to[raw_[i].start]) is_target_[i] = true;
  }
}

void RawCode::cover() {
  handler_.assign(raw_.size(), kNoHandler);
  for (const ExceptionEntry& entry : stream_.exceptions) {
    for (uint32_t i = entry.begin; i < entry.end; ++i) {
      handler_[stream_.instrs[i].raw] = stream_.instrs[entry.target].raw;
    }
  }
}

bool RawCode::is_only_wrapped(size_t index) const {
  if (handler_[index] == kNoHandler) return true;
  // (A lambda has no wrapper.)
  const bool is_bare = handler_[handler_[index]] == kNoHandler;
  if (is_bare && is_protected_by(index, Mark::CleanupThrow)) return true;
  return is_protected_by(index, Mark::CallIntrinsic1) &&
         raw_[handler_[index]].arg == kStopIterationError &&
         mark(handler_[index] + 1) == Mark::Reraise;
}

bool RawCode::makes_bool(size_t index) const {
  const Mark op = mark(index);
  if (op == Mark::CompareOp) {
    return (raw_[index].arg & kToBool) != 0 || compares_length(index) || asks_for_format(index);
  }
  if (op == Mark::LoadConst || op == Mark::LoadCommonConstant) return loads_bool(index);
  return op == Mark::ToBool || op == Mark::IsOp || op == Mark::ContainsOp || op == Mark::UnaryNot ||
         op == Mark::CheckExcMatch || op == Mark::MatchSequence || op == Mark::MatchMapping;
}

bool RawCode::compares_length(size_t index) const {
  if (index < 2 || is_target_[index] || is_target_[index - 1]) return false;
  const object::Const* number = loaded(index - 1);
  return number != nullptr && number->kind == object::ConstKind::Int &&
         mark(index - 2) == Mark::GetLen;
}

bool RawCode::asks_for_format(size_t index) const {
  constexpr size_t kInPrologue = 8;
  constexpr uint32_t kNotImplementedError = 1;
  const bool is_one =
      code_.posonlyargcount == 1 && code_.argcount == 1 &&
      (module_.text(code_.name) == "__annotate__" || module_.text(code_.varnames[0]) == ".format");
  if (minor_ < 14 || !is_one || index < 2 || index > kInPrologue) return false;
  size_t next = index + 2;
  if (mark_after(next) == Mark::NotTaken) ++next;
  return loads_local(mark(index - 2)) && raw_[index - 2].arg == 0 &&
         mark_after(index - 1) == Mark::LoadSmallInt && !is_target_[index] &&
         mark_after(next) == Mark::LoadCommonConstant && raw_[next].arg == kNotImplementedError &&
         mark_after(next + 1) == Mark::RaiseVarargs;
}

bool RawCode::loads_bool(size_t index) const {
  const object::Const* value = loaded(index);
  return value != nullptr &&
         (value->kind == object::ConstKind::True || value->kind == object::ConstKind::False);
}

const object::Const* RawCode::loaded(size_t index) const {
  const auto instr = std::lower_bound(stream_.instrs.begin(), stream_.instrs.end(), index,
                                      [](const Instr& one, size_t raw) { return one.raw < raw; });
  const bool is_it =
      instr != stream_.instrs.end() && instr->raw == index && instr->op == Op::LoadConst;
  return is_it ? &module_[instr->constant()] : nullptr;
}

}  // namespace pellucid::bytecode
