// SPDX-License-Identifier: Apache-2.0
#include "print/annotation_text.h"

#include <cstddef>
#include <vector>

namespace pellucid::print {

namespace {

constexpr std::string_view kEllipsis = "Ellipsis";

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         (static_cast<unsigned char>(c) & 0x80) != 0;
}

bool is_constant_word(std::string_view word) {
  return (word[0] >= '0' && word[0] <= '9') || word == kEllipsis || word == "None" ||
         word == "True" || word == "False";
}

class AnnotationReader {
 public:
  explicit AnnotationReader(std::string_view text) : text_(text) {}

  std::string run() {
    while (at_ < text_.size()) step();
    std::string out;
    size_t done = 0;
    for (const Word& word : ellipses_) {
      if (!groups_[word.group].is_constant || !groups_[word.group].is_closed) continue;
      out += text_.substr(done, word.at - done);
      out += "...";
      done = word.at + kEllipsis.size();
    }
    out += text_.substr(done);
    return out;
  }

 private:
  struct Group {
    bool is_constant;
    bool is_closed = false;
  };
  struct Word {
    size_t at;
    size_t group;
  };

  void step() {
    const char c = text_[at_];
    if (c == '\'' || c == '"') return skip_string();
    if (is_word(c)) return word();
    if (c == '(' || c == '[' || c == '{') return open(c == '(');
    if (c == ')' || c == ']' || c == '}') return close();
    // `-1`, `1.5` and `(1+2j)` are constants.
    if (c != ',' && c != ' ' && c != '-' && c != '+' && c != '.') spoil();
    ++at_;
  }

  void word() {
    const size_t start = at_;
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    const std::string_view found = text_.substr(start, at_ - start);
    const bool is_prefix = at_ < text_.size() && (text_[at_] == '\'' || text_[at_] == '"');
    if (!is_prefix && !is_constant_word(found)) spoil();
    if (found == kEllipsis && !open_.empty()) ellipses_.push_back({start, open_.back()});
  }

  void open(bool is_round) {
    // The brackets of a call or a subscript come right after the callee.
    const bool follows =
        at_ > 0 && (is_word(text_[at_ - 1]) || text_[at_ - 1] == ')' || text_[at_ - 1] == ']');
    if (!is_round) spoil();
    open_.push_back(groups_.size());
    groups_.push_back({is_round && !follows});
    ++at_;
  }

  void close() {
    ++at_;
    if (open_.empty()) return;
    const bool is_constant = groups_[open_.back()].is_constant;
    groups_[open_.back()].is_closed = true;
    open_.pop_back();
    if (!is_constant) spoil();
  }

  // Records that the open brackets hold more than constants.
  void spoil() {
    if (!open_.empty()) groups_[open_.back()].is_constant = false;
  }

  void skip_string() {
    const char quote = text_[at_++];
    while (at_ < text_.size() && text_[at_] != quote) at_ += text_[at_] == '\\' ? 2 : 1;
    ++at_;
  }

  std::string_view text_;
  size_t at_ = 0;
  std::vector<Group> groups_;
  std::vector<size_t> open_;
  std::vector<Word> ellipses_;
};

}  // namespace

std::string with_ellipses(std::string_view annotation) {
  return AnnotationReader(annotation).run();
}

}  // namespace pellucid::print
