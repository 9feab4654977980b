// SPDX-License-Identifier: Apache-2.0
// print: numbers and strings as Python text with exactly the same value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "object/code.h"
#include "print/precedence.h"

namespace pellucid::print {

// The text of a number. It may need an operator (-1, 1 + 2j), which binds at `level`.
struct Number {
  std::string text;
  Level level = Level::Primary;
};

Number number_of(const object::Module& module, const object::Const& value, object::Version version);

// The four ways to quote, as a set of bits, in order of preference.
enum Quote : uint8_t { kSingle = 1, kDouble = 2, kTripleSingle = 4, kTripleDouble = 8 };
using Quotes = uint8_t;
inline constexpr Quotes kAllQuotes = 15;

constexpr bool is_triple(Quote quote) { return quote >= kTripleSingle; }
constexpr const char* text_of(Quote quote) {
  switch (quote) {
    case kSingle:
      return "'";
    case kDouble:
      return "\"";
    case kTripleSingle:
      return "'''";
    case kTripleDouble:
      return "\"\"\"";
  }
  return "";
}

// Returns the quotes that may be used inside a string quoted with `quote` without ending it.
constexpr Quotes without(Quotes quotes, Quote quote) {
  switch (quote) {
    case kSingle:
      return quotes & ~(kSingle | kTripleSingle);
    case kDouble:
      return quotes & ~(kDouble | kTripleDouble);
    case kTripleSingle:
      return quotes & ~kTripleSingle;
    case kTripleDouble:
      return quotes & ~kTripleDouble;
  }
  return quotes;
}

enum class TextKind : uint8_t { Str, Bytes };

// How braces are written in the text of a literal part.
enum class Braces : uint8_t {
  Plain,
  Doubled,
  Escaped
};  // outside, in an f-string, in a format spec

// Appends a literal with escapes, for any value. An empty set of quotes allows all of them.
void append_quoted(std::string& out, std::string_view text, TextKind kind, Quotes quotes);

// Returns a literal without a backslash, as an f-string's expression needs before 3.12; none if
// impossible.
std::optional<std::string> quoted_without_escapes(std::string_view text, TextKind kind,
                                                  Quotes quotes, bool newlines);

// Returns the quote of `quotes` that needs the fewest escapes.
Quote best_quote(std::string_view text, Quotes quotes);

// Appends the inside of a literal, with escapes.
void append_escaped(std::string& out, std::string_view text, TextKind kind, Quote quote,
                    Braces braces);

// Appends the inside of a literal without a backslash; returns false if that is impossible.
bool append_verbatim(std::string& out, std::string_view text, TextKind kind, Quote quote,
                     Braces braces, bool newlines);

// Returns the natural form of a docstring, or of another text of lines: triple quotes, real line
// ends.
std::string docstring(std::string_view text);

}  // namespace pellucid::print
