// SPDX-License-Identifier: Apache-2.0
#include "bytecode/stream.h"

#include <bit>

#include "bytecode/op_facts.h"

namespace pellucid::bytecode {
namespace {

constexpr std::string_view kNames[] = {
#define OP(name, ...) #name,
#include "bytecode/ops.def"
#undef OP
};

uint32_t pops_of(const Instr& instr, uint8_t slots) {
  const uint32_t a = instr.a;
  const uint32_t b = instr.b;
  if (slots != kVar) return slots == kCount ? a : slots;
  switch (instr.op) {
    case Op::BuildMap:
      return 2 * a;
    case Op::BuildConstKeyMap:
      return a + 1;
    case Op::Format:
      return 1 + b;
    case Op::BuildInterpolation:
      return 2 + b;
    case Op::MakeFunction:
      return 1 + b + static_cast<uint32_t>(std::popcount(a & 15));
    case Op::Call:
      return a + b;
    case Op::CallKw:
      return a + b + 1;
    case Op::CallEx:
      return b + 1 + (a & 1);
    case Op::CleanupThrow:
      return 3 + b;
    default:
      return 0;  // the 3.8 finally ops: their effect depends on the path
  }
}

uint32_t pushes_of(const Instr& instr, uint8_t slots) {
  if (slots != kVar) return slots == kCount ? instr.a : slots;
  switch (instr.op) {
    case Op::UnpackEx:
      return instr.a + 1 + instr.b;
    case Op::MatchKeys:
    case Op::MatchClass:
    case Op::BeforeWith:
    case Op::BeforeAsyncWith:
      return 1 + instr.b;
    case Op::CleanupThrow:
      return 2 + instr.b;
    default:
      return 0;  // as above
  }
}

}  // namespace

std::string_view name_of(Op op) { return kNames[static_cast<size_t>(op)]; }
Operand operand_of(Op op) { return facts_of(op).operand; }
bool can_raise(Op op) { return facts_of(op).raises; }

StackEffect stack_effect(const Instr& instr) {
  const OpFacts& op = facts_of(instr.op);
  return {pops_of(instr, op.pops), pushes_of(instr, op.pushes)};
}

}  // namespace pellucid::bytecode
