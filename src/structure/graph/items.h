// SPDX-License-Identifier: Apache-2.0
// Predicates on the operation of a value.
#pragma once

#include "ir/function.h"

namespace pellucid::structure {

using ir::stores_name;

// Returns true if the value is a marker, or the marker of this kind.
inline bool is_marker(const ir::Value& value) { return is_op(value, bytecode::Op::Marker); }
inline bool is_marker(const ir::Value& value, flow::Marker what) {
  return is_marker(value) && value.a == static_cast<uint32_t>(what);
}

// Returns true if the value only marks that control leaves a region or a handler, or an empty
// body.
inline bool is_leaving(const ir::Value& value) {
  return is_op(value, bytecode::Op::PopExcept) || is_marker(value);
}

// Returns true if the value only leaves: the marker of the empty body of a `try` is a statement.
inline bool only_leaves(const ir::Value& value) {
  return is_leaving(value) && !is_marker(value, flow::Marker::EmptyBody);
}

// See flow::kPlaceholder.
inline bool is_placeholder(const ir::Value& value) {
  return is_op(value, bytecode::Op::LoadConst) && value.b == flow::kPlaceholder;
}

// Returns true if the element is unpacked into several: `[*x for x in y]`, `{**x for x in y}`
// (3.15).
inline bool is_spread(const ir::Value& value) {
  return value.a > 1 && (is_op(value, bytecode::Op::ListExtend, bytecode::Op::SetUpdate,
                               bytecode::Op::DictUpdate));
}

// Returns true if the value adds one or several elements to the container of a comprehension.
inline bool fills_container(const ir::Value& value) {
  return value.a > 1 &&
         (is_op(value, bytecode::Op::ListAppend, bytecode::Op::SetAdd, bytecode::Op::MapAdd) ||
          is_spread(value));
}

inline bool deletes_name(const ir::Value& value) {
  using bytecode::Op;
  return is_op(value, Op::DeleteFast, Op::DeleteName, Op::DeleteGlobal, Op::DeleteDeref);
}

}  // namespace pellucid::structure
