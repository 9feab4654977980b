// SPDX-License-Identifier: Apache-2.0
// `await` and `yield from` of 3.11+: an explicit loop, folded to one YieldFrom.
//
//   3.11                               3.12+
//   i:    SEND t                       i:    SEND t
//         YIELD_VALUE                        YIELD_VALUE      (protected by c alone)
//         JUMP_BACKWARD i                    JUMP_BACKWARD i
//   t:                                 t:    END_SEND
//                                      c:    CLEANUP_THROW    (out of line, or right before t)
//                                            JUMP t
//
// In 3.15 the iterator has a slot above it that only the interpreter uses: PUSH_NULL or GET_ITER
// pushes it right before the loop, and END_SEND pops it.
//
// throw() and close() on the generator go to the iterator first, which 3.11 does by itself and
// 3.12+ by CLEANUP_THROW; YieldFrom means the same as in 3.10.
#include "bytecode/op_facts.h"
#include "flow/regions.h"

namespace pellucid::flow {
namespace {

class SendFolder {
 public:
  explicit SendFolder(Regions& regions)
      : regions_(regions), jumps_to_(regions.instrs.size() + 1, 0) {
    for (const Instr& instr : regions.instrs)
      if (bytecode::has_target(instr.op)) ++jumps_to_[instr.a];
    for (const Region& region : regions.regions) ++jumps_to_[region.target];
  }

  void fold(uint32_t at) {
    const auto& instrs = regions_.instrs;
    const uint32_t target = instrs[at].a;
    if (!is(at + 1, Op::YieldValue) || !is(at + 2, Op::Jump) || instrs[at + 2].a != at ||
        jumps_to_[at + 1] != 0 || jumps_to_[at + 2] != 0 || target == at)
      return;
    const bool keeps_iterator = instrs[at].b != 1;
    const bool has_slot = instrs[at].b == 2;
    const uint32_t end_size = has_slot ? 3 : 2;  // of END_SEND
    if (has_slot &&
        (jumps_to_[at] != 1 || at < 2 || !is(at - 2, Op::PushNull) || !is(at - 1, Op::LoadConst) ||
         jumps_to_[at - 2] != 0 || jumps_to_[at - 1] != 0))
      return;
    uint32_t after = target;
    if (keeps_iterator) {
      // END_SEND is one raw instruction, so no jump leads into it.
      if (!is(target, Op::Swap) || instrs[target].a != end_size || !is(target + 1, Op::Pop)) return;
      after = target + end_size;
    }
    uint32_t ways_in = 1;  // to `target`: by SEND
    const uint32_t region = regions_.cover[at + 1];
    uint32_t throws = kNoRegion;
    if (keeps_iterator && region != kNoRegion && region != regions_.cover[at] &&
        is(regions_.regions[region].target, Op::CleanupThrow)) {
      throws = regions_.regions[region].target;
      if (regions_.regions[region].lasti || jumps_to_[throws] != 1 ||
          (throws > 0 && falls_through(throws - 1)))
        return;
      if (is(throws + 1, Op::Jump) && instrs[throws + 1].a == target && jumps_to_[throws + 1] == 0)
        ++ways_in;
      else if (throws + 1 != target)
        return;
    }
    if (keeps_iterator) {
      const bool by_falling = target > 0 && target != throws + 1 && falls_through(target - 1);
      if (jumps_to_[target] != ways_in || jumps_to_[target + 1] != 0 || by_falling) return;
    }
    regions_.instrs[at].op = Op::YieldFrom;
    regions_.instrs[at].a = 0;
    regions_.instrs[at].b = 0;
    if (has_slot) regions_.absorb(at - 2, at);
    for (uint32_t i = target; i < after; ++i) regions_.absorb(i, at);
    if (throws != kNoRegion) {
      // (Of the slots that it keeps, only the folded one is missing.)
      regions_.fold(at).depth_at = regions_.regions[region].depth - (has_slot ? 1 : 0);
      // It raises again what the iterator did not take.
      regions_.cover[at + 1] = regions_.cover[throws];
      regions_.absorb(throws, at);
      if (ways_in == 2) regions_.absorb(throws + 1, at);
    }
    regions_.absorb(at + 1, at);
    // There 3.11 raises what the iterator did not take.
    if (!keeps_iterator && !regions_.raises.empty()) regions_.raises[at + 2] = 1;
    regions_.stands_for(at + 2, at);
    regions_.instrs[at + 2].a = after;
    loops_.push_back(at + 2);
  }

  // Drops the loops' jumps, which lead forward now, if they lead to the next instruction.
  void drop_jumps() {
    for (const uint32_t jump : loops_)
      if (regions_.live(jump + 1) == regions_.live(regions_.instrs[jump].a))
        regions_.absorb(jump, jump - 2);
  }

 private:
  bool is(uint32_t at, Op op) const {
    return at < regions_.instrs.size() && regions_.instrs[at].op == op;
  }
  bool falls_through(uint32_t at) const {
    const auto control = control_of(regions_.instrs[at]);
    return !control || control->falls;
  }

  Regions& regions_;
  std::vector<uint32_t> jumps_to_;  // by jumps and as handlers
  std::vector<uint32_t> loops_;
};

}  // namespace

void fold_send_loops(Regions& regions) {
  SendFolder folder(regions);
  for (uint32_t i = 0; i < regions.instrs.size(); ++i)
    if (regions.instrs[i].op == Op::Send && !regions.gone[i]) folder.fold(i);
  folder.drop_jumps();
}

}  // namespace pellucid::flow
