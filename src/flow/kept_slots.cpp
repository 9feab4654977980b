// SPDX-License-Identifier: Apache-2.0
#include "flow/kept_slots.h"

#include <algorithm>
#include <span>
#include <string>

#include "bytecode/op_facts.h"
#include "flow/draft.h"

namespace pellucid::flow {
namespace {

// Returns the number of slots that an instruction may have popped when it raises.
uint32_t taken_by(const Instr& instr) {
  // At its end the iterator is popped too.
  const bool ends = instr.op == Op::ForIter || instr.op == Op::Send;
  return ends ? reach_of(instr) : bytecode::effect_of(instr).pops;
}

// The slots while the instructions of a block run.
class Slots {
 public:
  explicit Slots(uint32_t depth) : depth_(depth), left_(depth) {}

  // Runs an instruction; returns how many slots are certainly as they were before the raw
  // instruction that it is a part of.
  uint32_t run(const Instr& instr) {
    if (!is_begun_ || instr.raw != raw_) left_ = depth_;
    is_begun_ = true;
    raw_ = instr.raw;
    left_ = std::min(left_, depth_ - std::min(depth_, taken_by(instr)));
    const bytecode::StackEffect effect = bytecode::effect_of(instr);
    depth_ = depth_ - std::min(depth_, effect.pops) + effect.pushes;
    return left_;
  }

 private:
  uint32_t depth_;
  uint32_t left_;
  uint32_t raw_ = 0;
  bool is_begun_ = false;
};

}  // namespace

std::optional<bytecode::Breach> takes_kept_slot(const Graph& graph) {
  for (const Block& block : graph.blocks) {
    if (!block.handler.valid()) continue;
    Slots slots(block.depth);
    const auto takes = [&](const Instr& instr) {
      const uint32_t left = slots.run(instr);
      return bytecode::facts_of(instr.op).raises && left < graph[block.handler].depth;
    };
    const auto told = [](const Instr& instr) {
      return bytecode::Breach{
          std::string(bytecode::name_of(instr.op)) + ": takes a slot that its handler keeps",
          instr.offset};
    };
    for (const Instr& instr : std::span(graph.instrs).subspan(block.first, block.count)) {
      if (takes(instr)) return told(instr);
    }
    const Exit& exit = block.exit;
    if (exit.kind != ExitKind::Goto && takes(exit.instr)) return told(exit.instr);
  }
  return std::nullopt;
}

}  // namespace pellucid::flow
