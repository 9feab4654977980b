// What a value of the ir does, for everybody who reads them.
#pragma once

#include "ir/function.h"

namespace pellucid::structure {

inline bool is_op(const ir::Value& value, bytecode::Op op) {
  return value.kind == ir::ValueKind::Instr && value.op == op;
}

using ir::stores_name;

// See flow::kPlaceholder.
inline bool is_placeholder(const ir::Value& value) {
  return is_op(value, bytecode::Op::LoadConst) && value.b == flow::kPlaceholder;
}

inline bool deletes_name(const ir::Value& value) {
  using bytecode::Op;
  return is_op(value, Op::DeleteFast) || is_op(value, Op::DeleteName) ||
         is_op(value, Op::DeleteGlobal) || is_op(value, Op::DeleteDeref);
}

}  // namespace pellucid::structure
