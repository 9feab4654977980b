// SPDX-License-Identifier: Apache-2.0
#include "bytecode/raw_code.h"

#include <algorithm>

namespace pellucid::bytecode {

RawCode::RawCode(const object::Module& module, const Stream& stream)
    : module_(module),
      code_(module[stream.code]),
      stream_(stream),
      raw_(stream.raw),
      minor_(code_.version.minor),
      count_(raw_.size()),
      marks_(std::make_unique_for_overwrite<Mark[]>(count_)) {
  if (raw_.empty()) return;
  const TraitsTable& traits = traits_of(code_.version);
  is_target_.resize(raw_.size() + 1);
  Mark* next = marks_.get();
  for (const RawInstr& instr : raw_) {
    const Mark mark = traits[instr.opcode].mark;
    *next++ = mark;
    present_[static_cast<size_t>(mark)] = true;
    if (instr.target >= 0) is_target_[starting_at(instr.target)] = true;
  }
  if (stream_.exceptions.empty()) return;
  handlers_.assign(raw_.size(), kNoHandler);
  for (const ExceptionEntry& entry : stream_.exceptions) {
    const uint32_t handler = stream_.instrs[entry.target].raw;
    is_target_[handler] = true;
    for (uint32_t i = entry.begin; i < entry.end; ++i) handlers_[stream_.instrs[i].raw] = handler;
  }
}

size_t RawCode::starting_at(int64_t byte) const {
  const auto found =
      std::lower_bound(raw_.begin(), raw_.end(), byte,
                       [](const RawInstr& instr, int64_t start) { return instr.start < start; });
  const bool is_it = found != raw_.end() && found->start == byte;
  return is_it ? static_cast<size_t>(found - raw_.begin()) : raw_.size();
}

bool RawCode::is_only_wrapped(size_t index) const {
  const uint32_t handler = handler_of(index);
  if (handler == kNoHandler) return true;
  // (A lambda has no wrapper.)
  const bool is_bare = handler_of(handler) == kNoHandler;
  if (is_bare && is_protected_by(index, Mark::CleanupThrow)) return true;
  return is_protected_by(index, Mark::CallIntrinsic1) && raw_[handler].arg == kStopIterationError &&
         mark(handler + 1) == Mark::Reraise;
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
