// SPDX-License-Identifier: Apache-2.0
// polish: the widths of Python's keywords, for counting columns.
#pragma once

#include <cstdint>
#include <string_view>

namespace pellucid::polish {

// Returns the width in columns, with the spaces around the word: `width_of(" and ")`.
constexpr int32_t width_of(std::string_view keyword) {
  return static_cast<int32_t>(keyword.size());
}

}  // namespace pellucid::polish
