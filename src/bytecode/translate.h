// SPDX-License-Identifier: Apache-2.0
// bytecode: raw instructions -> canonical ones, by the table in meanings.cpp.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "bytecode/stream.h"

namespace pellucid::bytecode {

// Which way a test of a constant goes.
enum class Decided : uint8_t { No, Jumps, Falls };

// What is known of a raw instruction where code is read along its paths (reach.h).
struct Step {
  std::string fault;  // it is no instruction, and why
  bool is_reached = true;
  Decided decided = Decided::No;
  bool falls = false;  // control goes on to `after`, in bytes
  uint32_t after = 0;
};

// What the translation needs to know about raw instructions besides themselves.
struct RawFacts {
  // For each code unit, the raw instruction that starts there (with its EXTENDED_ARGs), or kNoRaw.
  std::vector<uint32_t> at_unit;
  // Whether a jump or an exception leads to the raw instruction.
  std::vector<bool> is_target;
  // The same, the exhausted edges of FOR_ITER left out: they never run what they point at.
  std::vector<bool> is_entered;
  // Where code is read along its paths: one for each raw instruction. Else none.
  std::vector<Step> steps;
};
inline constexpr uint32_t kNoRaw = 0xffffffffu;

struct Translation {
  std::vector<Instr> instrs;    // a Target operand is still the index of a *raw* instruction
  std::vector<uint32_t> first;  // of each raw instruction: where its canonical ones begin; one more
                                // at the end
  std::vector<Fault> faults;    // by b of the Unsayable in their place
};

Result<Translation> translate(const object::Module& module, object::CodeId code,
                              const std::vector<RawInstr>& raw, const RawFacts& facts);

}  // namespace pellucid::bytecode
