// SPDX-License-Identifier: Apache-2.0
// pickle: opcodes and their arguments, from bytes. Private to the machine.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace pellucid::pickle {

enum class Op : uint8_t {
#define OPCODE(name, byte, argument) name = byte,
#include "pickle/opcodes.def"
};

// The argument of one opcode, and where it is.
struct Argument {
  int64_t number = 0;     // of a number; the bits of a Double
  uint64_t offset = 0;    // of a text in the input
  std::string_view text;  // of Counted*, Line and TwoLines: without the newline
  std::string_view more;  // the second of TwoLines
};

bool is_opcode(uint8_t byte);

class Reader {
 public:
  explicit Reader(std::span<const uint8_t> bytes, uint64_t at) : bytes_(bytes), at_(at) {}

  uint64_t at() const { return at_; }
  uint64_t left() const { return bytes_.size() - at_; }
  void skip(uint64_t count) { at_ += count; }
  std::optional<uint8_t> byte();

  // Reads the argument of an opcode. Errors are those of CPython's pickle.
  Result<Argument> argument(Op op);

 private:
  Result<uint64_t> number(size_t size);
  Result<std::string_view> counted(uint64_t size, uint64_t& offset);
  Result<std::string_view> line();
  Error cut_off() const;

  std::span<const uint8_t> bytes_;
  uint64_t at_;
};

// An INT: a bool, if it is written in two characters, or a number.
struct WrittenInt {
  bool is_bool = false;
  int64_t number = 0;
  std::string big;  // two's complement, least significant byte first, if `number` cannot hold it
};

// Reads the decimal, hexadecimal, octal or binary text of INT; without `is_int`, of LONG.
std::optional<WrittenInt> int_of(std::string_view line, bool is_int);
std::optional<double> float_of(std::string_view line);

// Returns the UTF-8 of UNICODE's text, with its escapes decoded; nothing if one is damaged.
std::optional<std::string> unescaped_unicode(std::string_view line);

// Returns the bytes of STRING's text, which is quoted.
std::optional<std::string> unescaped_string(std::string_view line);

// Returns the value of a digit or letter, up to 35; 99 for anything else.
int digit_of(char c);

// Returns the value of at most 8 bytes of two's complement, the least significant first.
int64_t small_int(std::string_view bytes);

// Appends a code point as UTF-8, a lone surrogate as three bytes.
void append_utf8(std::string& text, uint32_t point);

}  // namespace pellucid::pickle
