// SPDX-License-Identifier: Apache-2.0
#include "bytecode/left_code.h"

#include "bytecode/read_raw.h"
#include "bytecode/traits.h"

namespace pellucid::bytecode {

namespace {

bool leaves_region(const Traits& opcode) {
  if (opcode.meaning == nullptr) return false;
  return opcode.meaning->op == Op::PopExcept || opcode.meaning->op == Op::PopBlock;
}

}  // namespace

object::LeftCode left_code(const object::Code& code) {
  object::LeftCode found;
  if (code.version >= object::Version{3, 10}) return found;
  const Result<std::vector<RawInstr>> raw = read_raw(code);
  if (!raw.ok()) return found;
  found.is_known = !raw->empty();
  if (!raw->empty()) found.last = raw->back().offset;
  const TraitsTable& traits = traits_of(code.version);
  // Only loops are jumped back to, and code that never runs holds none that matters.
  std::vector<bool> is_target(code.bytecode.size() + 1, false);
  bool runs = true;
  bool has_jumped = false;  // by the instruction before
  for (const RawInstr& instr : *raw) {
    const Traits& opcode = traits[instr.opcode];
    runs = runs || is_target[instr.start];
    const bool jumps = instr.target >= 0 && (opcode.kinds & (kJumpRelative | kJumpAbsolute)) != 0;
    if (runs) {
      if (jumps && static_cast<size_t>(instr.target) < is_target.size()) {
        is_target[static_cast<size_t>(instr.target)] = true;
      }
      runs = opcode.falls_through;
      found.has_end = false;
      has_jumped = jumps && !runs;
      const bool goes_on = instr.target == static_cast<int64_t>(instr.offset) + 2;
      if (has_jumped) found.taken.push_back({instr.offset, false, goes_on});
    } else {
      if (has_jumped) found.taken.back().leaves_early = leaves_region(opcode);
      has_jumped = false;
      if (jumps && !opcode.falls_through) {
        found.jumps.push_back({instr.start, instr.offset + 2, static_cast<uint32_t>(instr.target)});
      }
      found.has_end = true;
    }
  }
  if (found.has_end) {
    const size_t count = raw->size();
    found.has_end = count >= 2 && traits[(*raw)[count - 2].opcode].mark == Mark::LoadConst &&
                    !traits[raw->back().opcode].falls_through;
  }
  return found;
}

}  // namespace pellucid::bytecode
