// SPDX-License-Identifier: Apache-2.0
// object: the size of constants when written out, in values. An item that a constant contains
// several times is stored once but written each time, so a small file may expand beyond any memory.
#pragma once

#include <cstdint>

#include "object/code.h"

namespace pellucid::object {

// Returns the size of one constant without its items.
inline uint64_t written_alone(const Module& module, const Const& value) {
  constexpr uint64_t kCharacters = 16;  // that count as one value
  const bool has_text = value.kind == ConstKind::Str || value.kind == ConstKind::Bytes ||
                        value.kind == ConstKind::BigInt;
  return 1 + (has_text ? module.text(value.text).size() / kCharacters : 0);
}

}  // namespace pellucid::object
