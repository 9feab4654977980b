// What a value of the ir does, for everybody who reads them.
#pragma once

#include "ir/function.h"

namespace pellucid::structure {

inline bool is_op(const ir::Value& value, bytecode::Op op) {
  return value.kind == ir::ValueKind::Instr && value.op == op;
}

// In whatever scope the name is.
inline bool stores_name(const ir::Value& value) {
  using bytecode::Op;
  return is_op(value, Op::StoreFast) || is_op(value, Op::StoreName) ||
         is_op(value, Op::StoreGlobal) || is_op(value, Op::StoreDeref);
}

inline bool deletes_name(const ir::Value& value) {
  using bytecode::Op;
  return is_op(value, Op::DeleteFast) || is_op(value, Op::DeleteName) ||
         is_op(value, Op::DeleteGlobal) || is_op(value, Op::DeleteDeref);
}

}  // namespace pellucid::structure
