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
#include <map>
#include <optional>
#include <vector>

#include "flow/draft.h"

namespace pellucid::flow {

inline constexpr uint32_t kNoRegion = 0xffffffffu;
inline constexpr uint32_t kUnknownRegion = kNoRegion - 1;
inline constexpr uint32_t kAnything = 0xffffffffu;

struct Region {
  uint32_t target = 0;  // index of the handler's first instruction
  uint32_t depth = 0;
  bool lasti = false;
  uint32_t parent = kNoRegion;  // the region that protects the handler
  uint32_t nesting = 1;         // length of the chain of parents, this one included
};

// What folding assumes of an instruction, to be confirmed once the stack is known, and what it took
// away.
struct Folded {
  uint32_t saved_at = kAnything;  // the slot of the saved exception while the instruction runs
  uint32_t depth_at = kAnything;  // of a folded SEND loop: the number of slots its handler kept
  uint32_t restores = 0;          // how many exceptions the folded handlers restored
};

struct Regions {
  std::vector<Instr> instrs;
  std::vector<uint8_t> raises;  // 1: an exception comes from it, or arrives there. Empty: no region
  std::vector<uint8_t> gone;    // 1: folded away, by absorb()
  std::vector<Region> regions;
  std::vector<uint32_t> cover;  // of each instruction: its region or kNoRegion
  std::vector<Folded> folded;   // of each instruction; empty if nothing was folded
  // By jump back: the region that gets what a signal handler raises there. Those without one lack.
  std::map<uint32_t, uint32_t> interrupts;
  bool wraps_stop_iteration = false;
  std::optional<uint32_t> parted;  // as Graph::parted

  // Folds an instruction away into another one, which stands for it from here on: the only way to
  // drop one. If it can raise, both need one handler.
  void absorb(uint32_t at, uint32_t whole) {
    gone[at] = 1;
    stands_for(at, whole);
  }
  // The same of an instruction that stays.
  void stands_for(uint32_t at, uint32_t whole) {
    if (cover[at] != cover[whole] && raises[at] && !parted) parted = instrs[at].offset;
  }

  Folded& fold(uint32_t at) {
    folded.resize(instrs.size());
    return folded[at];
  }

  // Returns the first instruction at or after `at` that is not gone; gone.size() if there is none.
  uint32_t live(uint32_t at) const {
    while (at < gone.size() && gone[at]) ++at;
    return at;
  }
  // Returns the innermost region that contains both; kNoRegion if there is none.
  uint32_t common(uint32_t a, uint32_t b) const;
};

// Returns the regions of a stream; with `fold` = false, exactly those of its table.
Regions regions_of(const object::Module& module, const bytecode::Stream& stream,
                   const Survey& survey, bool fold);

// Folds the SEND loops in place (fold_send.cpp).
void fold_send_loops(Regions& regions);

// Folds the loops before calls of any, all and tuple in place (fold_shortcut.cpp).
void fold_shortcuts(Regions& regions, const object::Module& module);

}  // namespace pellucid::flow
