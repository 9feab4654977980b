// SPDX-License-Identifier: Apache-2.0
// object: identifiers and dotted names of source text.
#pragma once

#include <string>
#include <string_view>

namespace pellucid::object {

// Returns true for `<listcomp>` and its like: the functions that comprehensions were compiled to.
inline bool is_comprehension_name(std::string_view name) {
  return name == "<listcomp>" || name == "<setcomp>" || name == "<dictcomp>" || name == "<genexpr>";
}

// Returns true if `text` is an identifier in every supported Python and means exactly that name: it
// is not a keyword, and equal to its NFKC form, to which CPython normalises it.
bool is_identifier(std::string_view text);

// Returns true if `text` is one or more identifiers separated by dots: `a.b.c`, which is one name
// in an import.
bool is_dotted(std::string_view text);

// Returns true if the text of an annotation can only be read as one expression: strings and
// brackets are closed, and nothing outside of them ends an annotation.
bool is_one_expression(std::string_view text);

// Returns `text` if it is an identifier, otherwise one made of its valid parts.
std::string as_identifier(std::string_view text);

// Returns the same for the name of a function: without the `_` if that is an identifier, and in
// ASCII. Depends on the name alone.
std::string as_function_name(std::string_view text);

// Returns true if the character is visible and does not affect others: no control, no space except
// U+0020, no format character (bidirectional ones above all), no surrogate.
bool is_visible(char32_t point);

}  // namespace pellucid::object
