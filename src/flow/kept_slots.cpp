// SPDX-License-Identifier: Apache-2.0
#include "flow/kept_slots.h"

#include <algorithm>
#include <span>
#include <string>
#include <vector>

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

// Returns true if nothing that runs once the handler has begun looks at a slot that it keeps.
bool leaves_kept_slots(const Graph& graph, const Handler& handler) {
  std::vector<bool> is_met(graph.blocks.size());
  std::vector<BlockId> todo;
  const auto meet = [&](BlockId next) {
    if (!next.valid() || is_met[next.value]) return;
    is_met[next.value] = true;
    todo.push_back(next);
  };
  meet(handler.entry);
  while (!todo.empty()) {
    const Block& block = graph[todo.back()];
    todo.pop_back();
    uint32_t depth = block.depth;
    const auto looks = [&](const Instr& instr) {
      const bool is_deep = depth < handler.depth + reach_of(instr);
      const bytecode::StackEffect effect = bytecode::effect_of(instr);
      depth = depth - std::min(depth, effect.pops) + effect.pushes;
      return is_deep;
    };
    const std::span instrs = std::span(graph.instrs).subspan(block.first, block.count);
    if (std::any_of(instrs.begin(), instrs.end(), looks)) return false;
    if (block.exit.kind != ExitKind::Goto && looks(block.exit.instr)) return false;
    for (BlockId next : block.exit.next) meet(next);
    if (block.handler.valid()) meet(graph[block.handler].entry);
  }
  return true;
}

}  // namespace

std::optional<bytecode::Breach> takes_kept_slot(const Graph& graph, bool is_generated) {
  std::vector<bool> is_fine(graph.handlers.size());
  for (const Block& block : graph.blocks) {
    if (!block.handler.valid() || is_fine[block.handler.value]) continue;
    const Handler& handler = graph[block.handler];
    Slots slots(block.depth);
    const auto takes = [&](const Instr& instr) {
      const uint32_t left = slots.run(instr);
      return bytecode::facts_of(instr.op).raises && left < handler.depth;
    };
    const std::span instrs = std::span(graph.instrs).subspan(block.first, block.count);
    const auto found = std::find_if(instrs.begin(), instrs.end(), takes);
    const Instr* taker = found == instrs.end() ? nullptr : &*found;
    const Exit& exit = block.exit;
    if (taker == nullptr && exit.kind != ExitKind::Goto && takes(exit.instr)) taker = &exit.instr;
    if (taker == nullptr) continue;
    if (!is_generated || !leaves_kept_slots(graph, handler)) {
      return bytecode::Breach{
          std::string(bytecode::name_of(taker->op)) + ": takes a slot that its handler keeps",
          taker->offset};
    }
    is_fine[block.handler.value] = true;
  }
  return std::nullopt;
}

}  // namespace pellucid::flow
