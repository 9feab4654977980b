// SPDX-License-Identifier: Apache-2.0
// object: what compilers up to 3.9 leave after statements that control never leaves by their end.
#pragma once

#include <cstdint>
#include <vector>

namespace pellucid::object {

// A jump that never runs. compiler_if ends an arm with a jump over its `else`, and
// compiler_try_except a clause, even after a `raise`, `break` or `continue`.
struct LeftJump {
  uint32_t begin = 0;   // byte offset, of its first EXTENDED_ARG
  uint32_t end = 0;     // after it
  uint32_t target = 0;  // after the whole statement, or before the jump: the next pass of a loop
};

// A jump without a condition that runs.
struct TakenJump {
  uint32_t offset = 0;
  // The code after it never runs, and leaves a region or clause: it is a statement's own jump out
  // of that, as after `except E: continue` (compiler_try_except).
  bool leaves_early = false;
  bool goes_on = false;  // to the next instruction: over an `else` that is nothing but `pass`
};

struct LeftCode {
  bool is_known = false;         // the compiler leaves such code
  std::vector<LeftJump> jumps;   // by their offsets
  std::vector<TakenJump> taken;  // by their offsets
  // The code ends in a `return None` that never runs: the last statement is no `return`, but one
  // with arms that all leave, or a `raise`.
  bool has_end = false;
  uint32_t last = 0;  // byte offset of the last instruction
};

}  // namespace pellucid::object
