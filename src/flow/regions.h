// SPDX-License-Identifier: Apache-2.0
// Regions: what the exception table of 3.11+ says, instruction by instruction, without the parts
// that are mere bookkeeping.
//
//   * The cleanup handler `COPY 3; POP_EXCEPT; RERAISE 1` restores the exception state on the way
//     out of a handler. Unwinding does that by itself in a Graph, so what it protects is protected
//     by whatever protects the cleanup handler.
//   * The wrapper of 3.12+ generators, `CALL_INTRINSIC_1 3; RERAISE 1`, protects everything else.
//   * A SEND loop with its CLEANUP_THROW handler is one YieldFrom.
//   * The loop that 3.14 puts before `any(...)`, `all(...)` and `tuple(...)` of a generator
//     expression does what the call after it does.
//
// Instructions keep their indices; those that are folded away are marked `gone`.
//
// Private to flow.
#pragma once

#include <cstdint>
#include <vector>

#include "flow/draft.h"

namespace pellucid::flow {

inline constexpr uint32_t kNoRegion = 0xffffffffu;
inline constexpr uint32_t kAnything = 0xffffffffu;

struct Region {
  uint32_t target = 0;  // index of the handler's first instruction
  uint32_t depth = 0;
  bool lasti = false;
  uint32_t parent = kNoRegion;  // what protects the handler
  uint32_t nesting = 1;         // length of the chain of parents, this one included
};

struct Regions {
  std::vector<Instr> instrs;
  std::vector<bool> gone;
  std::vector<Region> regions;
  std::vector<uint32_t> cover;  // of each instruction: its region or kNoRegion
  bool wraps_stop_iteration = false;

  // What folding took for granted, to be confirmed when the stack is known: the slot in which an
  // exception lies saved while an instruction runs.
  std::vector<uint32_t> saved_at;  // kAnything: nothing to confirm
  // The same of a folded SEND loop: how many slots its handler has kept.
  std::vector<uint32_t> depth_at;
  // How many exceptions the folded handlers of an instruction have restored.
  std::vector<uint32_t> restores;

  // The first instruction at or after `at` that is not gone; instrs.size() if there is none.
  uint32_t live(uint32_t at) const {
    while (at < instrs.size() && gone[at]) ++at;
    return at;
  }
  // The innermost region that contains both; kNoRegion if there is none.
  uint32_t common(uint32_t a, uint32_t b) const;
};

// `fold` = false leaves everything as the table has it.
Regions regions_of(const object::Module& module, const bytecode::Stream& stream, bool fold);

// The SEND loops, in place (fold_send.cpp).
void fold_send_loops(Regions& regions);

// The loops before calls of any, all and tuple, in place (fold_shortcut.cpp).
void fold_shortcuts(Regions& regions, const object::Module& module);

}  // namespace pellucid::flow
