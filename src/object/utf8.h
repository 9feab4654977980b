// SPDX-License-Identifier: Apache-2.0
// object: the text encodings that marshal uses.
#pragma once

#include <string>
#include <string_view>

namespace pellucid::object {

// Returns true for UTF-8 that may have lone surrogates (Python's "surrogatepass").
bool is_utf8_with_surrogates(std::string_view text);

bool is_ascii(std::string_view bytes);
std::string utf8_of_latin1(std::string_view bytes);

// Returns the code point at `at` and moves `at` past it. A byte that begins no character is its own
// code point; of other invalid text the code point means nothing, but only bytes of `text` are
// read.
char32_t next_code_point(std::string_view text, size_t& at);

// Returns the front of a text: at most so many bytes, which end between two characters.
std::string_view front_of(std::string_view text, size_t most);

}  // namespace pellucid::object
