// SPDX-License-Identifier: Apache-2.0
// cli: text as JSON has it.
#pragma once

#include <string>
#include <string_view>

namespace pellucid::cli {

// Returns a valid JSON string for any bytes: an invalid UTF-8 byte (possible in file names) becomes
// the surrogate that Python uses for it, and a surrogate (possible in names in bytecode) is
// escaped.
std::string json_text(std::string_view text);

}  // namespace pellucid::cli
