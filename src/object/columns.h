// SPDX-License-Identifier: Apache-2.0
// object: the columns of an instruction's source (3.11+, PEP 657).
#pragma once

#include <cstdint>

namespace pellucid::object {

inline constexpr uint16_t kNoColumn = 0xffff;

// Columns count bytes of UTF-8 from 0.
struct Columns {
  uint16_t begin = kNoColumn;
  uint16_t end = kNoColumn;  // one past the last; kNoColumn if on another line
};

}  // namespace pellucid::object
