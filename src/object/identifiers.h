// SPDX-License-Identifier: Apache-2.0
// Names as sources have them.
#pragma once

#include <string>
#include <string_view>

namespace pellucid::object {

// Returns true if a source of any supported Python can name something so and means just that name:
// it is no keyword, and an identifier that is its own NFKC form, which CPython takes in its place.
bool is_identifier(std::string_view text);

// Returns true if `text` is identifiers with dots between them: `a.b.c`, of which an import makes
// one name. One identifier is dotted, too.
bool is_dotted(std::string_view text);

// Returns true if a text that stands for an annotation cannot be read as anything beside one
// expression: strings and brackets are closed, and outside of them nothing ends an annotation.
bool is_one_expression(std::string_view text);

// Returns `text` if it is an identifier, else one that is made of what can be kept of it.
std::string as_identifier(std::string_view text);

// The same of the name of a function: without the `_` where that is an identifier, and in ASCII.
// It follows from the name alone.
std::string as_function_name(std::string_view text);

// Returns true if a reader sees the character, and it leaves others as they are: no control, no
// space but U+0020, no format character (bidirectional ones above all), no surrogate.
bool is_visible(char32_t point);

}  // namespace pellucid::object
