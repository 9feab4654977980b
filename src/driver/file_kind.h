// SPDX-License-Identifier: Apache-2.0
// driver/file_kind: what a file is that is not compiled Python, for the error message.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace pellucid::driver {

// Returns the kind by the first bytes, such as "a gzip file" or "a text file"; empty if unknown.
std::string_view file_kind(std::span<const uint8_t> bytes);

}  // namespace pellucid::driver
