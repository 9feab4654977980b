// SPDX-License-Identifier: Apache-2.0
// object: the text encodings that marshal uses.
#pragma once

#include <string>
#include <string_view>

namespace pellucid::object {

// UTF-8 in which surrogates may stand alone (Python's "surrogatepass").
bool is_utf8_with_surrogates(std::string_view text);

std::string utf8_of_latin1(std::string_view bytes);

// The code point at `at` of valid text, and `at` moved after it.
char32_t next_code_point(std::string_view text, size_t& at);

}  // namespace pellucid::object
