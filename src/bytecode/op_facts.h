// SPDX-License-Identifier: Apache-2.0
// bytecode: the columns of ops.def, inline, for what asks for them of every instruction. (stream.h
// has the same as functions.)
#pragma once

#include <cstdint>

#include "bytecode/stream.h"

namespace pellucid::bytecode {

struct OpFacts {
  Operand operand;
  uint8_t pops;
  uint8_t pushes;
  bool raises;
};

// In the columns of stack slots: it depends on the operand.
inline constexpr uint8_t kVar = 0xff;

inline constexpr OpFacts kOpFacts[] = {
#define OP(name, operand, pops, pushes, raises) {Operand::operand, pops, pushes, (raises) != 0},
#include "bytecode/ops.def"
#undef OP
};

constexpr const OpFacts& facts_of(Op op) { return kOpFacts[static_cast<size_t>(op)]; }

constexpr bool has_target(Op op) { return facts_of(op).operand == Operand::Target; }

// stack_effect() of an instruction.
inline StackEffect effect_of(const Instr& instr) {
  const OpFacts& op = facts_of(instr.op);
  if (op.pops == kVar || op.pushes == kVar) return stack_effect(instr);
  return {op.pops, op.pushes};
}

}  // namespace pellucid::bytecode
