// SPDX-License-Identifier: Apache-2.0
#include "structure/text_line.h"

#include <algorithm>
#include <cctype>

namespace pellucid::structure {
namespace {

// Words, quoted texts, and signs that stand alone.
std::vector<std::string> tokens_of(const std::string& text) {
  std::vector<std::string> tokens;
  for (size_t at = 0; at < text.size();) {
    const char c = text[at];
    size_t end = at + 1;
    if (c == ' ') {
      ++at;
      continue;
    }
    if (c == '\'') {
      while (end < text.size() && text[end] != '\'') ++end;
      ++end;
    } else if (std::string("(),;:").find(c) == std::string::npos) {
      while (end < text.size() && std::string(" (),;:").find(text[end]) == std::string::npos) ++end;
    }
    tokens.push_back(text.substr(at, end - at));
    at = end;
  }
  return tokens;
}

}  // namespace

bool is_id(const std::string& token, char kind) {
  return token.size() > 1 && token[0] == kind &&
         std::all_of(token.begin() + 1, token.end(),
                     [](unsigned char c) { return std::isdigit(c); });
}

bool is_number(const std::string& token) {
  const size_t start = token[0] == '-' ? 1 : 0;
  return token.size() > start &&
         std::all_of(token.begin() + static_cast<ptrdiff_t>(start), token.end(),
                     [](unsigned char c) { return std::isdigit(c); });
}

Line::Line(const std::string& text) : text_(text) {
  const size_t start = text.find_first_not_of(" |");
  prefix = text.substr(0, start);
  bool is_note = false;
  for (std::string& token : tokens_of(text.substr(start))) {
    if (token == ";")
      is_note = true;
    else
      (is_note ? notes : words).push_back(std::move(token));
  }
  if (words.empty()) refuse(text);
}

std::string Line::take() {
  if (done()) refuse(text_);
  return words[next++];
}

void Line::expect(const char* word) {
  if (take() != word) refuse(text_);
}

uint32_t Line::number() {
  const std::string word = take();
  if (!is_number(word)) refuse(text_);
  return static_cast<uint32_t>(std::stol(word));
}

void refuse(const std::string& line) { throw InternalError("this line cannot be read: " + line); }

}  // namespace pellucid::structure
