// SPDX-License-Identifier: Apache-2.0
// polish: how wide the words of Python are, where columns are counted.
#pragma once

#include <cstdint>
#include <string_view>

namespace pellucid::polish {

// In columns, with the spaces that stand beside the word: `width_of(" and ")`.
constexpr int32_t width_of(std::string_view keyword) {
  return static_cast<int32_t>(keyword.size());
}

}  // namespace pellucid::polish
