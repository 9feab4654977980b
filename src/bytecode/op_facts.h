// SPDX-License-Identifier: Apache-2.0
// bytecode: the columns of ops.def, inline, for what asks for them of every instruction. (stream.h
// has the same as functions.)
#pragma once

#include <cstdint>

#include "bytecode/stream.h"

namespace pellucid::bytecode {

enum class Role : uint8_t { Plain, Own, Control, BlockStack };
enum class Looks : uint8_t { Pops, One, Two, Depth, Below, Own };

struct OpFacts {
  Operand operand;
  uint8_t pops;
  uint8_t pushes;
  bool raises;
  Role role;
  Looks looks;
};

// In the columns of stack slots: it depends on the operand.
inline constexpr uint8_t kCount = 0xfe, kVar = 0xff;
constexpr bool varies(uint8_t slots) { return slots >= kCount; }

inline constexpr OpFacts kOpFacts[] = {
#define OP(name, operand, pops, pushes, raises, role, looks) \
  {Operand::operand, pops, pushes, (raises) != 0, Role::role, Looks::looks},
#include "bytecode/ops.def"
#undef OP
};

constexpr const OpFacts& facts_of(Op op) { return kOpFacts[static_cast<size_t>(op)]; }

// Returns true if the instruction takes its operands from the top of the stack, the last one first,
// and leaves at most one result.
constexpr bool is_plain(Op op) { return facts_of(op).role == Role::Plain; }

// Returns true if the instruction ends its block.
constexpr bool transfers_control(Op op) { return facts_of(op).role == Role::Control; }

constexpr bool has_target(Op op) { return facts_of(op).operand == Operand::Target; }

// stack_effect() of an instruction.
inline StackEffect effect_of(const Instr& instr) {
  const OpFacts& op = facts_of(instr.op);
  if (varies(op.pops) || varies(op.pushes)) return stack_effect(instr);
  return {op.pops, op.pushes};
}

}  // namespace pellucid::bytecode
