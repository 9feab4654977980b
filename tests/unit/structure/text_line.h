// SPDX-License-Identifier: Apache-2.0
// One line of a graph as text, taken apart into words.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/check.h"

namespace pellucid::structure {

// Returns true if the word is the letter and a number, as `v12`.
bool is_id(const std::string& word, char kind);
bool is_number(const std::string& word);

[[noreturn]] void refuse(const std::string& line);

struct Line {
  std::string prefix;              // what it is indented by
  std::vector<std::string> words;  // before a `;`: words, quoted texts, and signs that stand alone
  std::vector<std::string> notes;  // after it
  size_t next = 0;                 // of the words

  Line() = default;
  explicit Line(const std::string& text);

  bool done() const { return next == words.size(); }
  const std::string& word() const { return part(next); }
  void skip() { ++next; }
  const std::string& part(size_t i) const {
    if (i >= words.size()) refuse(text_);
    return words[i];
  }

  // The next word, as what it has to be.
  std::string take();
  void expect(const char* word);
  uint32_t number();

  // Calls `on(name, words)` for each note; a comma comes between two.
  template <typename On>
  void each_note(const On& on) const {
    Line rest;
    rest.text_ = text_;
    rest.words = notes;
    while (!rest.done()) {
      const std::string name = rest.take();
      Line of_note;
      of_note.text_ = text_;
      while (!rest.done() && rest.word() != ",") of_note.words.push_back(rest.take());
      if (!rest.done()) rest.skip();
      on(name, of_note);
    }
  }

 private:
  std::string text_;
};

}  // namespace pellucid::structure
