// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "object/identifiers.h"
#include "object/utf8.h"
#include "print/literals.h"

namespace pellucid::print {

namespace {

using object::is_visible;

void append_code(std::string& out, char32_t point) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  unsigned digits = point < 0x100 ? 2 : point < 0x10000 ? 4 : 8;
  out += '\\';
  out += point < 0x100 ? 'x' : point < 0x10000 ? 'u' : 'U';
  while (digits-- > 0) out += kDigits[point >> (4 * digits) & 0xf];
}

// Returns the character at `at` and moves `at` past it; for bytes, the byte.
char32_t next(std::string_view text, TextKind kind, size_t& at) {
  if (kind == TextKind::Bytes) return static_cast<uint8_t>(text[at++]);
  return object::next_code_point(text, at);
}

// Returns true if the character can be in source as it is, apart from quotes and braces.
bool stands_for_itself(char32_t point, TextKind kind) {
  return kind == TextKind::Bytes ? point >= 0x20 && point < 0x7f : is_visible(point);
}

bool append_brace(std::string& out, char32_t point, Braces braces) {
  if ((point != '{' && point != '}') || braces == Braces::Plain) return false;
  if (braces == Braces::Doubled) {
    out.append(2, static_cast<char>(point));
  } else {
    append_code(out, point);
  }
  return true;
}

const char* short_escape(char32_t point) {
  switch (point) {
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    case '\\':
      return "\\\\";
    default:
      return nullptr;
  }
}

struct QuoteState {
  char mark;
  bool triple;
  size_t run = 0;  // unescaped quotes of this kind right before

  explicit QuoteState(Quote quote) : mark(text_of(quote)[0]), triple(is_triple(quote)) {}

  // Returns true if the next character, unescaped, could end the literal.
  bool must_escape(char32_t point, bool last) {
    if (point != static_cast<char32_t>(mark)) {
      run = 0;
      return false;
    }
    const bool escape = !triple || last || run == 2;
    run = escape ? 0 : run + 1;
    return escape;
  }
};

// By character: true for those that are in every literal as they are, of whatever quotes.
constexpr std::array<bool, 256> kPlain = [] {
  std::array<bool, 256> plain{};
  for (size_t c = 0x20; c < 0x7f; ++c) plain[c] = true;
  for (const char c : {'\'', '"', '\\', '{', '}'}) plain[static_cast<unsigned char>(c)] = false;
  return plain;
}();

// Returns the end of the plain characters from `at` on.
size_t end_of_plain(std::string_view text, size_t at) {
  while (at < text.size() && kPlain[static_cast<unsigned char>(text[at])]) ++at;
  return at;
}

template <bool kRealLineEnds>
void append_text(std::string& out, std::string_view text, TextKind kind, Quote quote,
                 Braces braces) {
  QuoteState state(quote);
  for (size_t at = 0; at < text.size();) {
    // Nearly all of a text is plain.
    if (const size_t end = end_of_plain(text, at); end > at) {
      out.append(text, at, end - at);
      state.run = 0;
      at = end;
      continue;
    }
    const size_t start = at;
    const char32_t point = next(text, kind, at);
    if (state.must_escape(point, at == text.size())) {
      out += '\\';
      out += static_cast<char>(point);
    } else if (kRealLineEnds && (point == '\n' || point == '\t')) {
      out += static_cast<char>(point);
    } else if (const char* escape = short_escape(point)) {
      out += escape;
    } else if (append_brace(out, point, braces)) {
    } else if (stands_for_itself(point, kind)) {
      out += text.substr(start, at - start);
    } else {
      append_code(out, point);
    }
  }
}

}  // namespace

Quote best_quote(std::string_view text, Quotes quotes) {
  if (quotes == 0) quotes = kAllQuotes;
  const bool has_single = text.find('\'') != std::string_view::npos;
  const bool has_double = text.find('"') != std::string_view::npos;
  if ((quotes & kSingle) && (!has_single || (has_double && (quotes & kDouble)))) return kSingle;
  if ((quotes & kDouble) && !has_double) return kDouble;
  for (const Quote quote : {kSingle, kDouble, kTripleSingle}) {
    if (quotes & quote) return quote;
  }
  return kTripleDouble;
}

void append_escaped(std::string& out, std::string_view text, TextKind kind, Quote quote,
                    Braces braces) {
  append_text<false>(out, text, kind, quote, braces);
}

bool append_verbatim(std::string& out, std::string_view text, TextKind kind, Quote quote,
                     Braces braces, bool newlines) {
  QuoteState state(quote);
  for (size_t at = 0; at < text.size();) {
    const size_t start = at;
    const char32_t point = next(text, kind, at);
    // The tokenizer reads \r as \n, stops at NUL, and cannot decode a surrogate.
    const bool impossible = point == '\\' || point == '\r' || point == 0 ||
                            (point >= 0xd800 && point < 0xe000) ||
                            (kind == TextKind::Bytes && point >= 0x80) ||
                            (point == '\n' && !(newlines && is_triple(quote))) ||
                            ((point == '{' || point == '}') && braces == Braces::Escaped);
    if (impossible || state.must_escape(point, at == text.size())) return false;
    if (!append_brace(out, point, braces)) out += text.substr(start, at - start);
  }
  return true;
}

namespace {

// Returns true if a raw literal in these quotes has this value and is likely to have been written:
// a backslash comes before a character that begins no escape, as in `\\d`, which is common in
// patterns and rare in other texts.
bool is_raw(std::string_view text, TextKind kind, Quote quote) {
  constexpr std::string_view kEscapes = "abfnrtvxuUN01234567\n'\"";
  if (is_triple(quote) || text.find('\\') == std::string_view::npos ||
      text.find(text_of(quote)) != std::string_view::npos) {
    return false;
  }
  bool is_likely = false;
  for (size_t at = 0; at < text.size();) {
    const char32_t point = next(text, kind, at);
    if (!stands_for_itself(point, kind)) return false;
    if (point != '\\') continue;
    if (at == text.size()) return false;  // it would hide the quote
    is_likely =
        is_likely || (text[at] != '\\' && kEscapes.find(text[at]) == std::string_view::npos);
    if (text[at] == '\\') ++at;
  }
  return is_likely;
}

}  // namespace

void append_quoted(std::string& out, std::string_view text, TextKind kind, Quotes quotes) {
  const Quote quote = best_quote(text, quotes);
  const bool raw = is_raw(text, kind, quote);
  if (raw) out += 'r';
  if (kind == TextKind::Bytes) out += 'b';
  out += text_of(quote);
  if (raw) {
    out += text;
  } else {
    append_escaped(out, text, kind, quote, Braces::Plain);
  }
  out += text_of(quote);
}

std::optional<std::string> quoted_without_escapes(std::string_view text, TextKind kind,
                                                  Quotes quotes, bool newlines) {
  for (const Quote quote : {kSingle, kDouble, kTripleSingle, kTripleDouble}) {
    if (!(quotes & quote)) continue;
    std::string out = kind == TextKind::Bytes ? "b" : "";
    out += text_of(quote);
    if (!append_verbatim(out, text, kind, quote, Braces::Plain, newlines)) continue;
    return out + text_of(quote);
  }
  return std::nullopt;
}

std::string docstring(std::string_view text) {
  std::string out = "\"\"\"";
  append_text<true>(out, text, TextKind::Str, kTripleDouble, Braces::Plain);
  return out + "\"\"\"";
}

}  // namespace pellucid::print
