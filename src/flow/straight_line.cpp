// SPDX-License-Identifier: Apache-2.0
// Code of 3.11+ without jumps and handlers: its graph is one block, up to the first instruction
// that leaves the code. It is what exception_table.cpp and assemble.cpp make of such code in many
// steps.
#include <utility>

#include "bytecode/op_facts.h"
#include "flow/draft.h"

namespace pellucid::flow {
namespace {

// Returns the depth of the stack after an instruction; nothing if the stack underflows or is too
// high.
std::optional<uint32_t> depth_after(const Instr& instr, uint32_t depth) {
  const bytecode::StackEffect effect = bytecode::effect_of(instr);
  if (depth < reach_of(instr, effect.pops)) return std::nullopt;
  depth = depth - effect.pops + effect.pushes;
  if (depth > kMaxDepth) return std::nullopt;
  return depth;
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
    const std::optional<uint32_t> after = depth_after(instrs[end], depth);
    if (!after) return std::nullopt;
    depth = *after;
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
