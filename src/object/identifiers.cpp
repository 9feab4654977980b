#include "object/identifiers.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "object/utf8.h"

namespace pellucid::object {

namespace {

struct Range {
  char32_t first;
  char32_t last;
  bool starts;        // whether a name may begin with it
  uint8_t combining;  // the canonical combining class
};

constexpr Range kRanges[] = {
#define RANGE(first, last, starts, combining) {first, last, starts, combining},
#include "object/identifier_ranges.inc"
#undef RANGE
};

const Range* range_of(char32_t point) {
  const auto* const found =
      std::lower_bound(std::begin(kRanges), std::end(kRanges), point,
                       [](const Range& range, char32_t wanted) { return range.last < wanted; });
  return found != std::end(kRanges) && found->first <= point ? found : nullptr;
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_keyword(std::string_view text) {
  static constexpr std::array<std::string_view, 35> kKeywords = {
      "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
      "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
      "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
      "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield"};
  return std::find(kKeywords.begin(), kKeywords.end(), text) != kKeywords.end();
}

}  // namespace

bool is_identifier(std::string_view text) {
  if (text.empty() || !is_utf8_with_surrogates(text)) return false;
  uint8_t combining = 0;
  for (size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (static_cast<unsigned char>(c) < 0x80) {
      if (!is_letter(c) && (at == 0 || !is_digit(c))) return false;
      combining = 0;
      ++at;
      continue;
    }
    const bool is_first = at == 0;
    const Range* const range = range_of(next_code_point(text, at));
    if (range == nullptr || (is_first && !range->starts)) return false;
    // Marks out of their canonical order are put in order by NFKC.
    if (range->combining != 0 && combining > range->combining) return false;
    combining = range->combining;
  }
  return !is_keyword(text);
}

bool is_dotted(std::string_view text) {
  for (;;) {
    const size_t dot = text.find('.');
    if (!is_identifier(text.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    text.remove_prefix(dot + 1);
  }
}

bool is_one_expression(std::string_view text) {
  std::string open;
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n' || c == '\r' || c == '\f' || c == 0) return false;
    if (quote != 0) {
      if (c == '\\') ++i;
      if (c == quote) quote = 0;
      continue;
    }
    switch (c) {
      case '\'':
      case '"':
        quote = c;
        break;
      case '(':
      case '[':
      case '{':
        open += c == '(' ? ')' : c == '[' ? ']' : '}';
        break;
      case ')':
      case ']':
      case '}':
        if (open.empty() || open.back() != c) return false;
        open.pop_back();
        break;
      case '#':
      case ';':
      case '\\':
        return false;
      case ',':
      case ':':
      case '=':
        if (open.empty()) return false;
        break;
      default:
        break;
    }
  }
  return quote == 0 && open.empty() && text.find_first_not_of(' ') != std::string_view::npos;
}

std::string as_identifier(std::string_view text) {
  if (is_identifier(text)) return std::string(text);
  std::string name = "_";
  for (size_t at = 0; at < text.size();) {
    const size_t start = at;
    next_code_point(text, at);
    std::string longer = name + std::string(text.substr(start, at - start));
    if (is_identifier(longer)) name = std::move(longer);
  }
  return name;
}

}  // namespace pellucid::object
