// SPDX-License-Identifier: Apache-2.0
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
  bool starts;        // true if a name may begin with it
  uint8_t combining;  // the canonical combining class
};

constexpr Range kRanges[] = {
#define RANGE(first, last, starts, combining) {first, last, starts, combining},
#define COMPOSES(second, first)
#include "object/identifier_ranges.inc"
#undef RANGE
#undef COMPOSES
};

// The pairs of characters that NFKC replaces by one, sorted.
constexpr std::pair<char32_t, char32_t> kComposed[] = {
#define RANGE(first, last, starts, combining)
#define COMPOSES(second, first) {second, first},
#include "object/identifier_ranges.inc"
#undef RANGE
#undef COMPOSES
};

bool compose(char32_t first, char32_t second) {
  return std::binary_search(std::begin(kComposed), std::end(kComposed), std::pair(second, first));
}

const Range* range_of(char32_t point) {
  const auto* const found =
      std::lower_bound(std::begin(kRanges), std::end(kRanges), point,
                       [](const Range& range, char32_t wanted) { return range.last < wanted; });
  return found != std::end(kRanges) && found->first <= point ? found : nullptr;
}

struct Span {
  char32_t first;
  char32_t last;
};

// Characters that are invisible or affect how others are shown: controls, spaces other than U+0020,
// format characters (bidirectional ones above all), surrogates, private use.
constexpr Span kInvisible[] = {
    {0x00, 0x1f},       {0x7f, 0xa0},       {0xad, 0xad},       {0x34f, 0x34f},
    {0x600, 0x605},     {0x61c, 0x61c},     {0x6dd, 0x6dd},     {0x70f, 0x70f},
    {0x890, 0x891},     {0x8e2, 0x8e2},     {0x115f, 0x1160},   {0x1680, 0x1680},
    {0x17b4, 0x17b5},   {0x180b, 0x180f},   {0x2000, 0x200f},   {0x2028, 0x202f},
    {0x205f, 0x206f},   {0x2800, 0x2800},   {0x3000, 0x3000},   {0x3164, 0x3164},
    {0xd800, 0xf8ff},   {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},   {0xffa0, 0xffa0},
    {0xfff0, 0xfffb},   {0xfffe, 0xffff},   {0x110bd, 0x110bd}, {0x110cd, 0x110cd},
    {0x13430, 0x1345f}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0x10ffff},
};

// The limit of bytes of a replacement identifier.
constexpr size_t kLongestGiven = 60;

constexpr size_t kLongestFunction = 40;

// By character, for the ASCII ones: 1 for a letter, which may begin a name, 2 for a digit.
constexpr std::array<uint8_t, 256> kOfName = [] {
  std::array<uint8_t, 256> kinds{};
  for (size_t c = 'a'; c <= 'z'; ++c) kinds[c] = kinds[c - 'a' + 'A'] = 1;
  for (size_t c = '0'; c <= '9'; ++c) kinds[c] = 2;
  kinds['_'] = 1;
  return kinds;
}();

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

constexpr std::array<std::string_view, 35> kKeywords = {
    "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
    "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
    "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
    "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield"};

// By first letter: a bit for each length of keywords.
constexpr std::array<uint16_t, 128> kKeywordLengths = [] {
  std::array<uint16_t, 128> lengths{};
  for (const std::string_view keyword : kKeywords) {
    uint16_t& bits = lengths[static_cast<unsigned char>(keyword[0])];
    bits = static_cast<uint16_t>(bits | 1u << keyword.size());
  }
  return lengths;
}();

// By first letter: the first keyword that has it; they are sorted.
constexpr std::array<uint8_t, 128> kKeywordsFrom = [] {
  std::array<uint8_t, 128> from{};
  for (size_t i = kKeywords.size(); i-- > 0;) {
    from[static_cast<unsigned char>(kKeywords[i][0])] = static_cast<uint8_t>(i);
  }
  return from;
}();

// Returns true for a keyword; `text` begins with a letter.
bool is_keyword(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first >= kKeywordLengths.size() || text.size() >= 16) return false;
  if ((kKeywordLengths[first] >> text.size() & 1) == 0) return false;
  for (size_t i = kKeywordsFrom[first]; i < kKeywords.size(); ++i) {
    if (kKeywords[i][0] != text[0]) return false;
    if (kKeywords[i] == text) return true;
  }
  return false;
}

// is_identifier() of a text that has other characters than ASCII. (Not a part of it, which would
// save registers for it at every call.)
[[gnu::noinline]] bool is_identifier_beyond_ascii(std::string_view text) {
  if (!is_utf8_with_surrogates(text)) return false;
  uint8_t combining = 0;
  char32_t base = 0;  // the last character that is no mark
  for (size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (static_cast<unsigned char>(c) < 0x80) {
      if (!is_letter(c) && (at == 0 || !is_digit(c))) return false;
      combining = 0;
      base = static_cast<unsigned char>(c);
      ++at;
      continue;
    }
    const bool is_first = at == 0;
    const char32_t point = next_code_point(text, at);
    const Range* const range = range_of(point);
    if (range == nullptr || (is_first && !range->starts)) return false;
    // NFKC reorders marks that are not in canonical order, and composes only with a base.
    if (range->combining != 0 && combining > range->combining) return false;
    if (compose(base, point)) return false;
    combining = range->combining;
    if (combining == 0) base = point;
  }
  return !is_keyword(text);
}

}  // namespace

bool is_identifier(std::string_view text) {
  // Nearly all names are ASCII.
  size_t ascii = 0;
  while (ascii < text.size() && kOfName[static_cast<unsigned char>(text[ascii])] != 0) ++ascii;
  if (ascii > 0 && is_digit(text[0])) return false;
  if (ascii == text.size()) return ascii > 0 && !is_keyword(text);
  return static_cast<unsigned char>(text[ascii]) >= 0x80 && is_identifier_beyond_ascii(text);
}

bool is_dotted(std::string_view text) {
  if (is_identifier(text)) return true;
  for (;;) {
    const size_t dot = text.find('.');
    if (!is_identifier(text.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    text.remove_prefix(dot + 1);
  }
}

namespace {

bool is_all_visible(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    if (!is_visible(next_code_point(text, at))) return false;
  }
  return true;
}

// Reads tokens and checks their sequence: not a full grammar, but an accepted text is one
// expression or a syntax error.
class ExpressionReader {
 public:
  explicit ExpressionReader(std::string_view text) : text_(text) {}

  bool run() {
    while (at_ < text_.size()) {
      if (!token()) return false;
    }
    return open_.empty() && is_operand_;
  }

 private:
  bool token() {
    const char c = text_[at_];
    if (c == ' ') return ++at_, true;
    if (is_letter(c) || static_cast<unsigned char>(c) >= 0x80) return word();
    if (is_digit(c)) return number();
    if (c == '\'' || c == '"') return string();
    ++at_;
    switch (c) {
      case '(':
      case '[':
        open_ += c == '(' ? ')' : ']';
        is_operand_ = false;
        return true;
      case '{':
        open_ += '}';
        return !std::exchange(is_operand_, false);
      case ')':
      case ']':
      case '}':
        if (open_.empty() || open_.back() != c) return false;
        open_.pop_back();
        return is_operand_ = true;
      case ',':
      case ':':
      case '=':
        is_operand_ = false;
        return !open_.empty();
      case '.':
        if (text_.substr(at_).starts_with("..")) {
          at_ += 2;
          return operand();
        }
        return std::exchange(is_operand_, false);
      default:
        is_operand_ = false;
        return std::string_view("+-*/%@&|^~<>!").find(c) != std::string_view::npos;
    }
  }

  // Reads an operand; returns false after another one.
  bool operand() { return !std::exchange(is_operand_, true); }

  bool word() {
    const size_t start = at_;
    while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]) ||
                                  static_cast<unsigned char>(text_[at_]) >= 0x80)) {
      ++at_;
    }
    const std::string_view name = text_.substr(start, at_ - start);
    const bool is_prefix = at_ < text_.size() && (text_[at_] == '\'' || text_[at_] == '"') &&
                           name.find_first_not_of("rRbBfFuUtT") == name.npos;
    if (is_prefix) return string();
    constexpr std::array<std::string_view, 13> kOperators = {
        "and", "or",     "not",   "in",    "is",    "if",  "else",
        "for", "lambda", "await", "async", "yield", "from"};
    if (std::find(kOperators.begin(), kOperators.end(), name) != kOperators.end()) {
      is_operand_ = false;
      return true;
    }
    const bool is_value = name == "None" || name == "True" || name == "False";
    return (is_value || is_identifier(name)) && operand();
  }

  bool number() {
    while (at_ < text_.size() &&
           (is_letter(text_[at_]) || is_digit(text_[at_]) || text_[at_] == '.')) {
      ++at_;
    }
    return operand();
  }

  bool string() {
    const char quote = text_[at_++];
    while (at_ < text_.size() && text_[at_] != quote) at_ += text_[at_] == '\\' ? 2 : 1;
    if (at_ >= text_.size()) return false;
    ++at_;
    return operand();
  }

  std::string_view text_;
  size_t at_ = 0;
  std::string open_;         // the closing brackets expected
  bool is_operand_ = false;  // the last token was an operand
};

}  // namespace

bool is_one_expression(std::string_view text) {
  return is_all_visible(text) && ExpressionReader(text).run();
}

std::string as_identifier(std::string_view text) {
  if (is_identifier(text)) return std::string(text);
  std::string name = "_";
  for (size_t at = 0; at < text.size() && name.size() < kLongestGiven;) {
    const size_t start = at;
    next_code_point(text, at);
    // `__x` would be a private name in a class.
    if (text[start] == '_' && name.size() == 1) continue;
    std::string longer = name + std::string(text.substr(start, at - start));
    if (is_identifier(longer)) name = std::move(longer);
  }
  return name == "_" ? "_unnamed" : name;
}

std::string as_function_name(std::string_view text) {
  if (is_identifier(text)) return std::string(text);
  std::string kept;
  for (const char c : text) {
    if (is_letter(c) || is_digit(c)) kept += c;
    if (kept.size() == kLongestFunction) break;
  }
  return is_identifier(kept) ? kept : "_" + kept;
}

bool is_visible(char32_t point) {
  if (point >= 0x20 && point < 0x7f) return true;
  for (const Span& range : kInvisible) {
    if (point <= range.last) return point < range.first;
  }
  return true;
}

}  // namespace pellucid::object
