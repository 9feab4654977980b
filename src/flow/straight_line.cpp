// SPDX-License-Identifier: Apache-2.0
// Code of 3.11+ without jumps and handlers: its graph is one block, up to the first instruction
// that leaves the code. It is what exception_table.cpp and assemble.cpp make of such code in many
// steps.
#include <utility>

#include "flow/draft.h"

namespace pellucid::flow {
namespace {

// Changes the depth of the stack as an instruction does. Returns false if the stack underflows or
// is too high.
bool run(const Instr& instr, uint32_t& depth) {
  if (is_simple(instr)) return run_simple(instr, depth);
  const bytecode::StackEffect effect = bytecode::effect_of(instr);
  if (depth < reach_of(instr, effect.pops)) return false;
  depth = depth - effect.pops + effect.pushes;
  return depth <= kMaxDepth;
}

}  // namespace

std::optional<Graph> graph_of_straight_line(const bytecode::Stream& stream, const Survey& survey) {
  const bool is_straight = !survey.jumps && stream.exceptions.empty() &&
                           !survey.has(Op::PushExcInfo) && !survey.has(Op::PopExcept);
  if (!is_straight) return std::nullopt;
  const std::span<const Instr> instrs = stream.instrs;
  uint32_t depth = 0;
  size_t end = 0;
  for (; end < instrs.size() && !transfers_control(instrs[end].op); ++end) {
    if (!run(instrs[end], depth)) return std::nullopt;
  }
  if (end == instrs.size() || depth < reach_of(instrs[end])) return std::nullopt;

  Graph graph;
  graph.code = stream.code;
  graph.instrs.assign(instrs.data(), instrs.data() + end);
  Block& block = graph.blocks.emplace_back();
  block.count = static_cast<uint32_t>(end);
  block.exit.kind = control_of(instrs[end])->kind;
  block.exit.instr = instrs[end];
  block.offset = instrs[0].offset;
  return graph;
}

}  // namespace pellucid::flow
