// SPDX-License-Identifier: Apache-2.0
// object: the size of constants and names when written out, in values. An item that a constant
// contains several times is stored once but written each time, so a small file may expand beyond
// any memory.
#pragma once

#include <cstdint>

#include "object/code.h"

namespace pellucid::object {

// Returns the size of a text beyond that of the value or the name that it is.
inline uint64_t written_text(const Module& module, Symbol text) {
  constexpr uint64_t kCharacters = 16;  // that count as one value
  return module.text(text).size() / kCharacters;
}

// Returns the size of one constant without its items.
inline uint64_t written_alone(const Module& module, const Const& value) {
  const bool has_text = value.kind == ConstKind::Str || value.kind == ConstKind::Bytes ||
                        value.kind == ConstKind::BigInt;
  return 1 + (has_text ? written_text(module, value.text) : 0);
}

}  // namespace pellucid::object
