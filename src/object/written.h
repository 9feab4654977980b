// SPDX-License-Identifier: Apache-2.0
// object: how long constants are when they are written out, in values. What a constant holds
// several times is stored once and written each time, so a small file may hold what no memory does.
#pragma once

#include <cstdint>

#include "object/code.h"

namespace pellucid::object {

// Of one constant without what it holds.
inline uint64_t written_alone(const Module& module, const Const& value) {
  constexpr uint64_t kCharacters = 16;  // that count as one value
  const bool has_text = value.kind == ConstKind::Str || value.kind == ConstKind::Bytes ||
                        value.kind == ConstKind::BigInt;
  return 1 + (has_text ? module.text(value.text).size() / kCharacters : 0);
}

}  // namespace pellucid::object
