// SPDX-License-Identifier: Apache-2.0
#include "cli/json.h"

#include <algorithm>
#include <cstdio>

namespace pellucid::cli {

namespace {

// Returns the length of the UTF-8 character at `at` if JSON may have it unescaped; otherwise 0.
size_t character_at(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  const unsigned first = byte(at);
  if (first < 0x80) return 1;
  const size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4) return 0;
  for (size_t i = 1; i < size; ++i) {
    if ((byte(at + i) & 0xc0) != 0x80) return 0;
  }
  const unsigned second = byte(at + 1);
  const bool is_overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool is_beyond = first == 0xf4 && second >= 0x90;
  return is_overlong || is_beyond ? 0 : size;
}

}  // namespace

std::string json_text(std::string_view text) {
  std::string out = "\"";
  const auto escape = [&](unsigned number) {
    char escaped[8];
    std::snprintf(escaped, sizeof escaped, "\\u%04x", number);
    out += escaped;
  };
  for (size_t at = 0; at < text.size();) {
    const auto byte = static_cast<unsigned char>(text[at]);
    const size_t size = character_at(text, at);
    if (size == 0) {
      escape(0xdc00u + byte);
    } else if (byte == '"' || byte == '\\') {
      out += '\\';
      out += text[at];
    } else if (byte == '\n') {
      out += "\\n";
    } else if (byte < ' ') {
      escape(byte);
    } else if (size == 3 && byte == 0xed && (text[at + 1] & 0x20) != 0) {
      escape(0xd000u | (text[at + 1] & 0x3fu) << 6 | (text[at + 2] & 0x3fu));
    } else {
      out.append(text, at, size);
    }
    at += std::max<size_t>(size, 1);
  }
  return out + '"';
}

}  // namespace pellucid::cli
