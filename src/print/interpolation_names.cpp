// SPDX-License-Identifier: Apache-2.0
#include "print/interpolation_names.h"

#include <algorithm>
#include <array>

namespace pellucid::print {
namespace {

constexpr std::array<std::string_view, 20> kKeywords = {
    "False", "None",   "True", "and",    "as", "async", "await", "else",  "for",   "from",
    "if",    "import", "in",   "lambda", "is", "not",   "or",    "yield", "match", "case"};

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The context of the current place: code, or the text of a string with fields.
struct Inside {
  bool is_text = false;
  std::string_view quote;  // of the string
  int brackets = 0;        // open ones, of code
};

class InterpolationReader {
 public:
  explicit InterpolationReader(std::string_view source) : source_(source) {}

  std::vector<std::string_view> run() {
    inside_.push_back({});
    while (at_ < source_.size()) {
      if (inside_.back().is_text) {
        text();
      } else {
        code();
      }
    }
    std::sort(names_.begin(), names_.end());
    return std::move(names_);
  }

 private:
  bool follows(std::string_view text) const { return source_.substr(at_).starts_with(text); }

  void code() {
    const char c = source_[at_];
    if (is_letter(c)) return word();
    if (is_digit(c)) {
      while (at_ < source_.size() &&
             (is_letter(source_[at_]) || is_digit(source_[at_]) || source_[at_] == '.')) {
        ++at_;
      }
    } else if (c == '\'' || c == '"') {
      string("");
    } else if (c == '#') {
      at_ = std::min(source_.find('\n', at_), source_.size());
    } else {
      bracket(c);
      ++at_;
    }
  }

  void bracket(char c) {
    if (c == '(' || c == '[' || c == '{') ++inside_.back().brackets;
    if (c != ')' && c != ']' && c != '}') return;
    // The end of a replacement field: back in the text of its string.
    if (inside_.back().brackets == 0 && inside_.size() > 1) {
      inside_.pop_back();
    } else {
      --inside_.back().brackets;
    }
  }

  void word() {
    const size_t start = at_;
    while (at_ < source_.size() && (is_letter(source_[at_]) || is_digit(source_[at_]))) ++at_;
    const std::string_view name = source_.substr(start, at_ - start);
    const bool is_prefix = at_ < source_.size() && name.size() <= 2 &&
                           (source_[at_] == '\'' || source_[at_] == '"') &&
                           name.find_first_not_of("rRbBfFtTuU") == name.npos;
    if (is_prefix) return string(name);
    // `!r` of a replacement field.
    if (start > 0 && source_[start - 1] == '!' && name.size() == 1) return;
    if (std::find(kKeywords.begin(), kKeywords.end(), name) == kKeywords.end())
      names_.push_back(name);
  }

  void string(std::string_view prefix) {
    const bool is_triple = follows("\"\"\"") || follows("'''");
    const std::string_view quote = source_.substr(at_, is_triple ? 3 : 1);
    at_ += quote.size();
    if (prefix.find_first_of("fFtT") != prefix.npos) return inside_.push_back({true, quote, 0});
    while (at_ < source_.size() && !follows(quote)) at_ += source_[at_] == '\\' ? 2 : 1;
    at_ = std::min(at_ + quote.size(), source_.size());
  }

  void text() {
    if (follows(inside_.back().quote)) {
      at_ += inside_.back().quote.size();
      inside_.pop_back();
    } else if (follows("{{") || follows("}}") || source_[at_] == '\\') {
      at_ += 2;
    } else if (source_[at_++] == '{') {
      inside_.push_back({});
    }
  }

  std::string_view source_;
  size_t at_ = 0;
  std::vector<Inside> inside_;
  std::vector<std::string_view> names_;
};

}  // namespace

std::vector<std::string_view> names_in(std::string_view source) {
  return InterpolationReader(source).run();
}

}  // namespace pellucid::print
