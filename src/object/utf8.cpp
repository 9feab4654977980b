// SPDX-License-Identifier: Apache-2.0
#include "object/utf8.h"

#include <cstdint>
#include <cstring>

namespace pellucid::object {
namespace {

constexpr size_t kLongestSequence = 4;  // bytes of one character

// Returns the length of a sequence by its first byte, 0 if that is invalid.
size_t sequence_length(uint8_t first) {
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return 2;
  if (first >= 0xe0 && first <= 0xef) return 3;
  if (first >= 0xf0 && first <= 0xf4) return 4;
  return 0;
}

}  // namespace

bool is_utf8_with_surrogates(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[at + i]); };
    const size_t length = sequence_length(byte(0));
    if (length == 0 || length > text.size() - at) return false;
    for (size_t i = 1; i < length; ++i) {
      if ((byte(i) & 0xc0) != 0x80) return false;
    }
    // Overlong forms, and code points beyond U+10FFFF.
    if (byte(0) == 0xe0 && byte(1) < 0xa0) return false;
    if (byte(0) == 0xf0 && byte(1) < 0x90) return false;
    if (byte(0) == 0xf4 && byte(1) > 0x8f) return false;
    at += length;
  }
  return true;
}

bool is_ascii(std::string_view bytes) {
  uint64_t all = 0;
  size_t at = 0;
  for (uint64_t eight = 0; at + sizeof eight <= bytes.size(); at += sizeof eight) {
    std::memcpy(&eight, bytes.data() + at, sizeof eight);
    all |= eight;
  }
  for (; at < bytes.size(); ++at) all |= static_cast<uint8_t>(bytes[at]);
  return (all & 0x8080808080808080) == 0;
}

std::string utf8_of_latin1(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  for (const char c : bytes) {
    const auto byte = static_cast<uint8_t>(c);
    if (byte < 0x80) {
      text += c;
    } else {
      text += static_cast<char>(0xc0 | byte >> 6);
      text += static_cast<char>(0x80 | (byte & 0x3f));
    }
  }
  return text;
}

char32_t next_code_point(std::string_view text, size_t& at) {
  const auto first = static_cast<uint8_t>(text[at]);
  size_t length = sequence_length(first);
  // A character that the end cuts is no better than a byte that begins none.
  if (length > text.size() - at) length = 0;
  char32_t point = length <= 1 ? first : first & (0x7fu >> length);
  for (size_t i = 1; i < length; ++i) {
    point = point << 6 | (static_cast<uint8_t>(text[at + i]) & 0x3f);
  }
  at += length == 0 ? 1 : length;
  return point;
}

std::string_view front_of(std::string_view text, size_t most) {
  if (text.size() <= most) return text;
  const auto goes_on = [&](size_t at) { return (static_cast<uint8_t>(text[at]) & 0xc0) == 0x80; };
  size_t end = most;
  while (end > 0 && most - end < kLongestSequence && goes_on(end)) --end;
  // Otherwise it is no text, but bytes.
  return text.substr(0, goes_on(end) ? most : end);
}

}  // namespace pellucid::object
