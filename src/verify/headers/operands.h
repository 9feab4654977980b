// SPDX-License-Identifier: Apache-2.0
// When two instructions have the same operand.
#pragma once

#include "bytecode/op_facts.h"
#include "flow/graph.h"
#include "verify/domain/values.h"

namespace pellucid::verify {

// Returns true if two instructions with one op have the same operand: names and constants by value.
// Two nested code objects are left to a comparison of their own: nest(in A, in B).
template <typename Nest>
bool same_operand(Values& values, const flow::Instr& in_a, const flow::Instr& in_b, Nest nest) {
  using bytecode::Operand;
  switch (bytecode::facts_of(in_a.op).operand) {
    case Operand::Const: {
      const object::Const& x = values.module(Side::A)[in_a.constant()];
      const object::Const& y = values.module(Side::B)[in_b.constant()];
      if (x.kind == object::ConstKind::Code && y.kind == object::ConstKind::Code) {
        nest(x.code, y.code);
        return true;
      }
      return values.same_constant(in_a.constant(), in_b.constant());
    }
    case Operand::Name:
    case Operand::Local:
    case Operand::Cell:
      return values.same_name(in_a.symbol(), in_b.symbol());
    case Operand::None:
      return true;
    case Operand::Target:
    case Operand::Count:
    case Operand::Depth:
    case Operand::Operator:
    case Operand::Flags:
    case Operand::Kind:
      return in_a.a == in_b.a;
  }
  return false;
}

}  // namespace pellucid::verify
