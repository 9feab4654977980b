// SPDX-License-Identifier: Apache-2.0
#include "ir/split.h"

#include <algorithm>

#include "bytecode/stream.h"

namespace pellucid::ir {

using bytecode::Instr;
using bytecode::Op;

namespace {

// Returns the lowest slot, counted from the bottom, that an instruction changes at this stack
// depth.
uint32_t lowest_change(const Instr& instr, uint32_t depth) {
  const bytecode::StackEffect effect = bytecode::stack_effect(instr);
  switch (instr.op) {
    case Op::Swap:
    case Op::Rot:
      return depth - std::min(depth, instr.a);
    default:
      return depth - std::min(depth, effect.pops);
  }
}

int change_of_level(const Instr& instr) {
  if (instr.op == Op::PushExcInfo) return 1;
  if (instr.op == Op::PopExcept) return -1;
  return instr.op == Op::EndAsyncFor && instr.a == 7 ? -1 : 0;
}

}  // namespace

flow::Graph split_for_slots(const flow::Graph& graph) {
  flow::Graph out = graph;
  for (size_t b = 0; b < graph.blocks.size(); ++b) {
    const flow::Block block = graph.blocks[b];
    const uint32_t kept = block.handler.valid() ? graph[block.handler].depth : 0;
    const uint32_t end = block.first + block.count;
    uint32_t depth = block.depth;
    uint32_t level = block.exc_depth;
    size_t current = b;
    for (uint32_t i = block.first; i < end; ++i) {
      const Instr& instr = graph.instrs[i];
      const bytecode::StackEffect effect = bytecode::stack_effect(instr);
      const bool disturbs = lowest_change(instr, depth) < kept;
      const int step = change_of_level(instr);
      depth = depth - effect.pops + effect.pushes;
      level = static_cast<uint32_t>(static_cast<int>(level) + step);
      // The match of `except*` is handled from here on, at the same level.
      if (!disturbs && step == 0 && instr.op != Op::EgMatch) continue;
      flow::Block rest;
      rest.first = i + 1;
      rest.count = end - (i + 1);
      rest.exit = out.blocks[current].exit;
      rest.handler = block.handler;
      rest.depth = depth;
      rest.exc_depth = level;
      rest.offset = instr.offset;
      const flow::BlockId id(out.blocks.size());
      out.blocks.push_back(rest);
      flow::Block& first = out.blocks[current];
      first.count = i + 1 - first.first;
      first.exit = {};
      first.exit.next[0] = id;
      first.exit.instr = instr;
      first.exit.falls = true;
      current = id.index();
    }
  }
  return out;
}

}  // namespace pellucid::ir
