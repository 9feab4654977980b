// SPDX-License-Identifier: Apache-2.0
// The raw instructions of a code object: how they are reached and protected, and what they leave.
// Private to breaches.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "bytecode/decode.h"
#include "bytecode/traits.h"

namespace pellucid::bytecode {

inline constexpr uint32_t kToBool = 16;  // in the argument of COMPARE_OP (3.13+)

class RawCode {
 public:
  RawCode(const object::Module& module, const Stream& stream);

  // Returns the mark of each instruction.
  std::span<const Mark> marks() const { return {marks_.get(), count_}; }
  Mark mark(size_t index) const { return index < count_ ? marks_[index] : Mark::None; }
  // Returns true if any instruction has the mark.
  bool has(Mark mark) const { return present_[static_cast<size_t>(mark)]; }
  // Returns the mark of an instruction that is reached only from the one before.
  Mark mark_after(size_t index) const {
    return index < raw_.size() && !is_target_[index] ? mark(index) : Mark::None;
  }
  bool is_extended(size_t index) const { return raw_[index].start != raw_[index].offset; }
  // Returns the first instruction that starts at this byte; the number of them if none does.
  size_t starting_at(int64_t byte) const;
  bool is_target(size_t index) const { return is_target_[index]; }
  // Returns true if the handler of an instruction starts with such a one.
  bool is_protected_by(size_t index, Mark first) const {
    const uint32_t handler = handler_of(index);
    return handler != kNoHandler && mark(handler) == first;
  }
  // Returns true if no handler protects an instruction but those that wrap a generator.
  bool is_only_wrapped(size_t index) const;
  // Returns true if an instruction leaves True or False.
  bool makes_bool(size_t index) const;

 private:
  static constexpr uint32_t kNoHandler = 0xffffffffu;

  // Returns the first raw instruction of the handler of a raw instruction.
  uint32_t handler_of(size_t index) const {
    return handlers_.empty() ? kNoHandler : handlers_[index];
  }

  // Returns true for `GET_LEN; LOAD_CONST 2; COMPARE_OP >=`, a comparison of two numbers.
  bool compares_length(size_t index) const;
  // Returns true for the test at the start of an annotation function (3.14+), whose argument is
  // always a small number.
  bool asks_for_format(size_t index) const;
  bool loads_bool(size_t index) const;
  // Returns the constant that an instruction loads; null if it is another one.
  const object::Const* loaded(size_t index) const;

  const object::Module& module_;
  const object::Code& code_;
  const Stream& stream_;
  const std::vector<RawInstr>& raw_;
  int minor_;
  const size_t count_;               // of raw instructions
  std::unique_ptr<Mark[]> marks_;    // of each of them
  std::array<bool, 256> present_{};  // by Mark
  std::vector<bool> is_target_;
  std::vector<uint32_t> handlers_;  // of each raw instruction; empty: none has one
};

}  // namespace pellucid::bytecode
