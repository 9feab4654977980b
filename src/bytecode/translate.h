// bytecode: raw instructions -> canonical ones, by the table in meanings.cpp.
#pragma once

#include <vector>

#include "base/result.h"
#include "bytecode/stream.h"

namespace pellucid::bytecode {

// What the translation needs to know about raw instructions besides themselves.
struct RawFacts {
  // For each code unit, the raw instruction that starts there (with its EXTENDED_ARGs), or kNoRaw.
  std::vector<uint32_t> at_unit;
  // Whether a jump or an exception leads to the raw instruction.
  std::vector<bool> is_target;
  // The same, the exhausted edges of FOR_ITER left out: they never run what they point at.
  std::vector<bool> is_entered;
};
inline constexpr uint32_t kNoRaw = 0xffffffffu;

struct Translation {
  std::vector<Instr> instrs;    // a Target operand is still the index of a *raw* instruction
  std::vector<uint32_t> first;  // of each raw instruction: where its canonical ones begin; one more
                                // at the end
};

Result<Translation> translate(const object::Module& module, object::CodeId code,
                              const std::vector<RawInstr>& raw, const RawFacts& facts);

}  // namespace pellucid::bytecode
