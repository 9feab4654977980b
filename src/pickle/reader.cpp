// SPDX-License-Identifier: Apache-2.0
#include "pickle/reader.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <string>

namespace pellucid::pickle {

namespace {

enum class ArgumentForm : uint8_t {
  Missing,
  None,
  Byte,
  Short,
  Word,
  Int,
  Long,
  Double,
  Line,
  TwoLines,
  Counted1,
  Counted4,
  Counted8,
  CountedInt,
};

constexpr std::array<ArgumentForm, 256> kArgumentForms = [] {
  std::array<ArgumentForm, 256> table{};
#define OPCODE(name, byte, argument) table[byte] = ArgumentForm::argument;
#include "pickle/opcodes.def"
  return table;
}();

}  // namespace

bool is_opcode(uint8_t byte) { return kArgumentForms[byte] != ArgumentForm::Missing; }

std::optional<uint8_t> Reader::byte() {
  if (left() == 0) return std::nullopt;
  return bytes_[at_++];
}

Error Reader::cut_off() const { return {ErrorCode::Truncated, bytes_.size(), "unexpected end"}; }

Result<uint64_t> Reader::number(size_t size) {
  if (left() < size) return cut_off();
  uint64_t value = 0;
  for (size_t i = size; i-- > 0;) value = value << 8 | bytes_[at_ + i];
  at_ += size;
  return value;
}

Result<std::string_view> Reader::counted(uint64_t size, uint64_t& offset) {
  if (left() < size) return cut_off();
  offset = at_;
  const std::string_view text(reinterpret_cast<const char*>(bytes_.data()) + at_, size);
  at_ += size;
  return text;
}

Result<std::string_view> Reader::line() {
  const auto rest = bytes_.subspan(at_);
  const auto found = std::find(rest.begin(), rest.end(), '\n');
  if (found == rest.end()) return cut_off();
  const auto size = static_cast<size_t>(found - rest.begin());
  uint64_t offset = 0;
  PELLUCID_TRY(const std::string_view text, counted(size, offset));
  ++at_;
  return text;
}

Result<Argument> Reader::argument(Op op) {
  Argument out;
  out.offset = at_;
  const ArgumentForm form = kArgumentForms[static_cast<uint8_t>(op)];
  switch (form) {
    case ArgumentForm::Missing:
    case ArgumentForm::None:
      return out;
    case ArgumentForm::Byte:
    case ArgumentForm::Short:
    case ArgumentForm::Word: {
      const size_t size = form == ArgumentForm::Byte ? 1 : form == ArgumentForm::Short ? 2 : 4;
      PELLUCID_TRY(const uint64_t value, number(size));
      out.number = static_cast<int64_t>(value);
      return out;
    }
    case ArgumentForm::Int: {
      PELLUCID_TRY(const uint64_t value, number(4));
      out.number = static_cast<int32_t>(value);
      return out;
    }
    case ArgumentForm::Long: {
      PELLUCID_TRY(const uint64_t value, number(8));
      out.number = static_cast<int64_t>(value);
      return out;
    }
    case ArgumentForm::Double: {
      PELLUCID_TRY(const uint64_t bits, number(8));
      uint64_t turned = 0;
      for (int i = 0; i < 8; ++i) turned = turned << 8 | (bits >> (8 * i) & 0xff);
      out.number = static_cast<int64_t>(turned);
      return out;
    }
    case ArgumentForm::Line: {
      PELLUCID_TRY(out.text, line());
      return out;
    }
    case ArgumentForm::TwoLines: {
      PELLUCID_TRY(out.text, line());
      PELLUCID_TRY(out.more, line());
      return out;
    }
    case ArgumentForm::Counted1:
    case ArgumentForm::Counted4:
    case ArgumentForm::Counted8: {
      PELLUCID_TRY(const uint64_t size, number(form == ArgumentForm::Counted1   ? 1
                                               : form == ArgumentForm::Counted4 ? 4
                                                                                : 8));
      PELLUCID_TRY(out.text, counted(size, out.offset));
      return out;
    }
    case ArgumentForm::CountedInt: {
      PELLUCID_TRY(const uint64_t size, number(4));
      if (static_cast<int32_t>(size) < 0) {
        return Error{ErrorCode::Malformed, at_, "negative byte count"};
      }
      PELLUCID_TRY(out.text, counted(size, out.offset));
      return out;
    }
  }
  return out;
}

// --- text forms ----------------------------------------------------------------------------------

namespace {

// CPython refuses decimal numbers with more digits.
constexpr size_t kMostDigits = 4300;

bool is_space(char c) { return c == ' ' || ('\t' <= c && c <= '\r'); }

std::string_view stripped(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

// Removes "0x" and the like from the front; returns the base.
int take_base(std::string_view& digits) {
  if (digits.size() < 2 || digits[0] != '0') return 10;
  const char mark = static_cast<char>(digits[1] | 0x20);
  const int base = mark == 'x' ? 16 : mark == 'o' ? 8 : mark == 'b' ? 2 : 10;
  if (base != 10) digits.remove_prefix(2);
  return base;
}

// Returns the bytes of a number of any size, the least significant first, in two's complement.
std::string twos_complement(std::string magnitude, bool is_negative) {
  magnitude += '\0';  // room for the sign
  if (is_negative) {
    unsigned carry = 1;
    for (char& byte : magnitude) {
      const unsigned sum = (~static_cast<unsigned char>(byte) & 0xffu) + carry;
      byte = static_cast<char>(sum);
      carry = sum >> 8;
    }
  }
  return magnitude;
}

}  // namespace

int digit_of(char c) {
  if ('0' <= c && c <= '9') return c - '0';
  const char low = static_cast<char>(c | 0x20);
  return 'a' <= low && low <= 'z' ? low - 'a' + 10 : 99;
}

int64_t small_int(std::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<uint8_t>(bytes[i]);
  const size_t bits = 8 * bytes.size();
  const bool is_negative = !bytes.empty() && (bytes.back() & 0x80) != 0;
  if (is_negative && bits < 64) value |= ~uint64_t{0} << bits;
  return static_cast<int64_t>(value);
}

std::optional<WrittenInt> int_of(std::string_view line, bool is_int) {
  WrittenInt out;
  const size_t size = line.size();
  if (!is_int && !line.empty() && line.back() == 'L') line.remove_suffix(1);
  std::string_view digits = stripped(line);
  const bool is_negative = !digits.empty() && digits[0] == '-';
  if (is_negative || (!digits.empty() && digits[0] == '+')) digits.remove_prefix(1);
  const bool is_octal = is_int && digits.size() > 1 && digits[0] == '0' && digit_of(digits[1]) < 8;
  const int base = is_octal ? 8 : take_base(digits);
  if (digits.empty() || digits.size() > kMostDigits) return std::nullopt;
  std::string magnitude;  // base 256
  bool was_digit = base != 10;
  for (const char c : digits) {
    if (c == '_') {
      if (!was_digit) return std::nullopt;
      was_digit = false;
      continue;
    }
    const int digit = digit_of(c);
    if (digit >= base) return std::nullopt;
    was_digit = true;
    auto carry = static_cast<unsigned>(digit);
    for (char& byte : magnitude) {
      const unsigned sum = static_cast<uint8_t>(byte) * static_cast<unsigned>(base) + carry;
      byte = static_cast<char>(sum);
      carry = sum >> 8;
    }
    if (carry != 0) magnitude += static_cast<char>(carry);
  }
  if (!was_digit) return std::nullopt;
  std::string bytes = twos_complement(std::move(magnitude), is_negative);
  if (bytes.size() <= 8) {
    out.number = small_int(bytes);
    out.is_bool = is_int && size == 2 && (out.number == 0 || out.number == 1);
  } else {
    out.big = std::move(bytes);
  }
  return out;
}

std::optional<double> float_of(std::string_view line) {
  const std::string text(stripped(line));
  // strtod also reads hexadecimal numbers.
  if (text.empty() || text.find_first_of("xXpP(") != std::string::npos) return std::nullopt;
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (end != text.c_str() + text.size()) return std::nullopt;
  return value;
}

void append_utf8(std::string& text, uint32_t point) {
  const auto add = [&](uint32_t byte) { text += static_cast<char>(byte); };
  if (point < 0x80) return add(point);
  if (point < 0x800) {
    add(0xc0 | point >> 6);
  } else {
    if (point < 0x10000) {
      add(0xe0 | point >> 12);
    } else {
      add(0xf0 | point >> 18);
      add(0x80 | (point >> 12 & 0x3f));
    }
    add(0x80 | (point >> 6 & 0x3f));
  }
  add(0x80 | (point & 0x3f));
}

namespace {

// Reads so many hexadecimal digits at `at`, and moves past them.
std::optional<uint32_t> hex_digits(std::string_view text, size_t& at, size_t count) {
  if (text.size() - at < count) return std::nullopt;
  uint32_t value = 0;
  for (const size_t end = at + count; at < end; ++at) {
    const int digit = digit_of(text[at]);
    if (digit >= 16) return std::nullopt;
    value = value << 4 | static_cast<uint32_t>(digit);
  }
  return value;
}

}  // namespace

std::optional<std::string> unescaped_unicode(std::string_view line) {
  std::string out;
  for (size_t at = 0; at < line.size();) {
    const char c = line[at++];
    if (c != '\\' || at == line.size()) {
      append_utf8(out, static_cast<uint8_t>(c));
      continue;
    }
    const char next = line[at++];
    if (next != 'u' && next != 'U') {
      out += '\\';
      append_utf8(out, static_cast<uint8_t>(next));
      continue;
    }
    const auto point = hex_digits(line, at, next == 'u' ? 4 : 8);
    if (!point || *point > 0x10ffff) return std::nullopt;
    append_utf8(out, *point);
  }
  return out;
}

std::optional<std::string> unescaped_string(std::string_view line) {
  line = stripped(line);
  if (line.size() < 2 || line.front() != line.back()) return std::nullopt;
  if (line.front() != '\'' && line.front() != '"') return std::nullopt;
  line = line.substr(1, line.size() - 2);
  constexpr std::string_view kNames = "\\'\"bfnrtav";
  constexpr std::string_view kBytes = "\\'\"\b\f\n\r\t\a\v";
  std::string out;
  for (size_t at = 0; at < line.size();) {
    const char c = line[at++];
    if (c != '\\') {
      out += c;
      continue;
    }
    if (at == line.size()) return std::nullopt;
    const char next = line[at++];
    if (const size_t known = kNames.find(next); known != std::string_view::npos) {
      out += kBytes[known];
    } else if (next == 'x') {
      const auto value = hex_digits(line, at, 2);
      if (!value) return std::nullopt;
      out += static_cast<char>(*value);
    } else if (digit_of(next) < 8) {
      auto value = static_cast<unsigned>(digit_of(next));
      for (int i = 0; i < 2 && at < line.size() && digit_of(line[at]) < 8; ++i) {
        value = value * 8 + static_cast<unsigned>(digit_of(line[at++]));
      }
      out += static_cast<char>(value);
    } else {
      out += '\\';
      out += next;
    }
  }
  return out;
}

}  // namespace pellucid::pickle
