// SPDX-License-Identifier: Apache-2.0
// Regions: the exception table of 3.11+, instruction by instruction, without the parts that are
// mere bookkeeping.
//
//   * The cleanup handler `COPY 3; POP_EXCEPT; RERAISE 1` restores the exception state on the way
//     out of a handler. Unwinding does that by itself in a Graph, so its region is merged into the
//     one that protects the cleanup handler.
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
  uint32_t parent = kNoRegion;  // the region that protects the handler
  uint32_t nesting = 1;         // length of the chain of parents, this one included
};

struct Regions {
  std::vector<Instr> instrs;
  std::vector<bool> gone;
  std::vector<Region> regions;
  std::vector<uint32_t> cover;  // of each instruction: its region or kNoRegion
  bool wraps_stop_iteration = false;

  // The assumptions of folding, to be confirmed once the stack is known: the slot of the saved
  // exception while an instruction runs.
  std::vector<uint32_t> saved_at;  // kAnything: nothing to confirm
  // The same for a folded SEND loop: the number of slots that its handler kept.
  std::vector<uint32_t> depth_at;
  // The number of exceptions that the folded handlers of an instruction restored.
  std::vector<uint32_t> restores;

  // Returns the first instruction at or after `at` that is not gone; instrs.size() if there is
  // none.
  uint32_t live(uint32_t at) const {
    while (at < instrs.size() && gone[at]) ++at;
    return at;
  }
  // Returns the innermost region that contains both; kNoRegion if there is none.
  uint32_t common(uint32_t a, uint32_t b) const;
};

// Returns the regions of a stream; with `fold` = false, exactly those of its table.
Regions regions_of(const object::Module& module, const bytecode::Stream& stream, bool fold);

// Folds the SEND loops in place (fold_send.cpp).
void fold_send_loops(Regions& regions);

// Folds the loops before calls of any, all and tuple in place (fold_shortcut.cpp).
void fold_shortcuts(Regions& regions, const object::Module& module);

}  // namespace pellucid::flow
