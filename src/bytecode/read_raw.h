// SPDX-License-Identifier: Apache-2.0
// bytecode: code units -> raw instructions, as `dis` shows them.
#pragma once

#include <vector>

#include "base/result.h"
#include "bytecode/stream.h"
#include "bytecode/traits.h"

namespace pellucid::bytecode {

// Reads all instructions; EXTENDED_ARGs are folded into the instruction after them, inline caches
// are skipped.
Result<std::vector<RawInstr>> read_raw(const object::Code& code);

// One entry of a 3.11+ exception table, in byte offsets.
struct RawException {
  uint32_t begin = 0;
  uint32_t end = 0;
  uint32_t target = 0;
  uint32_t depth = 0;
  bool lasti = false;
};
Result<std::vector<RawException>> read_exception_table(const object::Code& code);

// Returns the entries before the first malformed one, which is added to `faults`. A handler may be
// outside of the code.
std::vector<RawException> read_sound_exceptions(const object::Code& code,
                                                std::vector<Fault>& faults);

// Returns the target of a jump, in bytes; -1 for other instructions. Until 3.9 arguments count
// bytes, then code units; relative ones count from the end of the instruction's inline cache.
int64_t target_of(const object::Code& code, const Traits& opcode, const RawInstr& instr);

}  // namespace pellucid::bytecode
