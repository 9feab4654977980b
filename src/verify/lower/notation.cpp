// SPDX-License-Identifier: Apache-2.0
#include "verify/lower/notation.h"

#include <array>
#include <charconv>
#include <cstdio>

namespace pellucid::verify::lower {

std::string made(std::string_view what, const std::vector<std::string>& parts) {
  std::string out = '(' + std::string(what);
  for (const std::string& part : parts) out += ' ' + part;
  return out + ')';
}

std::string text_constant(char kind, std::string_view text) {
  return std::string(1, kind) + std::to_string(text.size()) + ':' + std::string(text);
}

std::string float_constant(double value) {
  std::array<char, 40> digits{};
  std::snprintf(digits.data(), digits.size(), "float:%.17g", value);
  return digits.data();
}

std::optional<int64_t> integer_of(std::string_view meaning) {
  if (!meaning.starts_with("int:")) return std::nullopt;
  int64_t value = 0;
  std::from_chars(meaning.data() + 4, meaning.data() + meaning.size(), value);
  return value;
}

std::string integer(int64_t value) { return "int:" + std::to_string(value); }

std::string binary(std::string_view op, const std::string& left, const std::string& right) {
  const auto x = integer_of(left);
  const auto y = integer_of(right);
  int64_t result = 0;
  if (x && y) {
    const bool overflows = op == "+"   ? __builtin_add_overflow(*x, *y, &result)
                           : op == "-" ? __builtin_sub_overflow(*x, *y, &result)
                           : op == "*" ? __builtin_mul_overflow(*x, *y, &result)
                                       : true;
    if (overflows) throw NotKnown{};
    return integer(result);
  }
  return made(op, {left, right});
}

std::string unary(std::string_view op, const std::string& operand) {
  const auto x = integer_of(operand);
  int64_t negative = 0;
  if (x && op == "-") {
    if (__builtin_sub_overflow(int64_t{0}, *x, &negative)) throw NotKnown{};
    return integer(negative);
  }
  if (x && op == "+") return operand;
  if (x && op == "~") return integer(~*x);
  return made(op == "not" ? "not" : "unary" + std::string(op), {operand});
}

}  // namespace pellucid::verify::lower
