// SPDX-License-Identifier: Apache-2.0
#include "base/check.h"

#include "bytecode/op_facts.h"
#include "bytecode/stream.h"

namespace pellucid::bytecode {
namespace {

void check_operand(const object::Module& module, const Stream& stream, const Instr& instr) {
  switch (facts_of(instr.op).operand) {
    case Operand::Const:
      PELLUCID_CHECK(instr.a < module.consts.size());
      return;
    case Operand::Name:
    case Operand::Local:
    case Operand::Cell:
      PELLUCID_CHECK(instr.a < module.strings.size());
      return;
    case Operand::Target:
      PELLUCID_CHECK(instr.a < stream.instrs.size());
      return;
    case Operand::None:
    case Operand::Count:
    case Operand::Depth:
    case Operand::Operator:
    case Operand::Flags:
    case Operand::Kind:
      return;
  }
}

}  // namespace

void check(const object::Module& module, const Stream& stream) {
  PELLUCID_CHECK(stream.code.index() < module.codes.size());
  for (size_t i = 0; i < stream.raw.size(); ++i) {
    PELLUCID_CHECK(stream.raw[i].start <= stream.raw[i].offset);
    PELLUCID_CHECK(i == 0 || stream.raw[i - 1].start < stream.raw[i].start);
  }
  for (size_t i = 0; i < stream.instrs.size(); ++i) {
    const Instr& instr = stream.instrs[i];
    PELLUCID_CHECK(instr.raw < stream.raw.size());
    PELLUCID_CHECK(instr.offset == stream.raw[instr.raw].offset);
    PELLUCID_CHECK(i == 0 || stream.instrs[i - 1].raw <= instr.raw);
    PELLUCID_CHECK(instr.op != Op::Unsayable || (instr.a == 0 && instr.b < stream.faults.size()));
    check_operand(module, stream, instr);
  }
  for (size_t i = 0; i < stream.exceptions.size(); ++i) {
    const ExceptionEntry& entry = stream.exceptions[i];
    PELLUCID_CHECK(entry.begin < entry.end && entry.end <= stream.instrs.size());
    PELLUCID_CHECK(entry.target < stream.instrs.size());
    PELLUCID_CHECK(i == 0 || stream.exceptions[i - 1].end <= entry.begin);
  }
}

}  // namespace pellucid::bytecode
