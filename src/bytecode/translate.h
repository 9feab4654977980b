// SPDX-License-Identifier: Apache-2.0
// bytecode: raw instructions -> canonical ones, by the table in meanings.cpp.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "bytecode/stream.h"

namespace pellucid::bytecode {

// The outcome of a test of a constant.
enum class Decided : uint8_t { No, Jumps, Falls };

// Facts about a raw instruction if code is read along its paths (reach.h).
struct Step {
  std::string fault;  // why it is not an instruction; empty if it is one
  bool is_reached = true;
  Decided decided = Decided::No;
  bool falls = false;  // control falls through to `after`, in bytes
  uint32_t after = 0;
};

// Facts about raw instructions that the translation needs.
struct RawFacts {
  // Returns true for a raw instruction that is the target of a jump or an exception.
  bool is_target(size_t index) const { return !targets.empty() && targets[index]; }
  // The same without the exhausted edges of FOR_ITER, which never run their target.
  bool is_entered(size_t index) const { return !entered.empty() && entered[index]; }

  // For each code unit, the raw instruction that starts there (with its EXTENDED_ARGs), or kNoRaw.
  // This and the next two are empty if nothing jumps.
  std::vector<uint32_t> at_unit;
  std::vector<bool> targets;  // by raw instruction
  std::vector<bool> entered;
  // One for each raw instruction if code is read along its paths; otherwise empty.
  std::vector<Step> steps;
};
inline constexpr uint32_t kNoRaw = 0xffffffffu;

// Several raw instructions that one canonical instruction stands for: the next one from `instr` on.
struct Fold {
  uint32_t raw = 0;    // the first of them
  uint32_t count = 0;  // of them
  uint32_t instr = 0;
};

struct Translation {
  std::vector<Instr> instrs;    // a Target operand is still the index of a *raw* instruction
  std::vector<uint32_t> first;  // by raw instruction: its first canonical one; one more at the end
  std::vector<Fold> folds;      // ascending, disjoint
  std::vector<Fault> faults;    // by b of the Unsayable in their place
};

Result<Translation> translate(const object::Module& module, object::CodeId code,
                              const std::vector<RawInstr>& raw, const RawFacts& facts);

}  // namespace pellucid::bytecode
