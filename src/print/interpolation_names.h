// SPDX-License-Identifier: Apache-2.0
// print: the names that a piece of source mentions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pellucid::print {

// Returns the names, sorted, with repetitions and without keywords. Strings and comments have none,
// but the replacement fields of f-strings and t-strings do.
std::vector<std::string_view> names_in(std::string_view source);

}  // namespace pellucid::print
