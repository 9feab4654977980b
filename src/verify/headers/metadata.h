// SPDX-License-Identifier: Apache-2.0
// Constants that a class body (3.13+) stores and that do not have to be equal.
#pragma once

#include "flow/graph.h"
#include "verify/domain/values.h"

namespace pellucid::verify {

// Returns true if a code object of A may store such constants.
inline bool stores_metadata(const Values& values, object::CodeId code) {
  const object::Code& a = values.module(Side::A)[code];
  return a.version.minor >= 13 && !(a.flags & object::kOptimized);
}

// Returns true if both sides load, and store by the next instruction, equivalent values of
// __firstlineno__ (metadata) or __static_attributes__ (a set). `in_a` and `in_b` are the loads, and
// not the last instructions of their blocks.
inline bool is_same_metadata(Values& values, const flow::Instr* in_a, const flow::Instr* in_b) {
  using flow::Op;
  if (in_a[0].op != Op::LoadConst || in_b[0].op != Op::LoadConst || in_a[1].op != Op::StoreName ||
      in_b[1].op != Op::StoreName) {
    return false;
  }
  const Name name = values.name(Side::A, in_a[1].symbol());
  if (name != values.name(Side::B, in_b[1].symbol())) return false;
  const std::string_view text = values.text(name);
  const bool is_line = text == "__firstlineno__";
  if (!is_line && text != "__static_attributes__") return false;
  const Value x = values.constant(Side::A, in_a[0].constant());
  const Value y = values.constant(Side::B, in_b[0].constant());
  if (is_line) return as_integer(values, x).has_value() && as_integer(values, y).has_value();
  return sorted(values, x) == sorted(values, y);
}

}  // namespace pellucid::verify
