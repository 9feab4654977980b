// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "base/check.h"
#include "print/literals.h"

namespace pellucid::print {

namespace {

// CPython refuses longer decimal literals (sys.int_info.default_max_str_digits).
constexpr size_t kMaxDecimalDigits = 4300;

// Infinity has no literal; a number that overflows is folded to it. NaN is the difference of two:
// the one whose sign is set, where x86-64 folds it.
constexpr const char* kInfinity = "1e309";
constexpr const char* kNan = "1e309 - 1e309";
constexpr const char* kImaginaryNan = "(1e309j - 1e309j)";

// Returns the repr() of a finite, non-negative float: the shortest digits that read back as the
// same value.
std::string finite_text(double value) {
  char buffer[40];
  const auto end =
      std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific).ptr;
  const std::string_view text(buffer, static_cast<size_t>(end - buffer));
  const size_t e = text.find('e');
  std::string digits;
  for (const char c : text.substr(0, e)) {
    if (c != '.') digits += c;
  }
  const int exponent = std::atoi(std::string(text.substr(e + 1)).c_str());
  const int count = static_cast<int>(digits.size());
  if (exponent < -4 || exponent >= 16) {
    std::string out = digits.substr(0, 1);
    if (count > 1) out += '.' + digits.substr(1);
    const int magnitude = std::abs(exponent);
    out += exponent < 0 ? "e-" : "e+";
    if (magnitude < 10) out += '0';
    return out + std::to_string(magnitude);
  }
  if (exponent < 0) return "0." + std::string(static_cast<size_t>(-exponent - 1), '0') + digits;
  if (count <= exponent + 1) {
    return digits + std::string(static_cast<size_t>(exponent + 1 - count), '0') + ".0";
  }
  return digits.substr(0, static_cast<size_t>(exponent) + 1) + '.' +
         digits.substr(static_cast<size_t>(exponent) + 1);
}

std::string magnitude_text(double value) {
  return std::isinf(value) ? kInfinity : finite_text(std::fabs(value));
}

Number float_number(double value) {
  if (std::isnan(value) && std::signbit(value)) return {kNan, Level::Arith};
  if (std::isnan(value)) return {'-' + ('(' + std::string(kNan) + ')'), Level::Factor};
  if (std::signbit(value)) return {'-' + magnitude_text(value), Level::Factor};
  return {magnitude_text(value), Level::Primary};
}

bool is_negative_zero(double value) { return value == 0 && std::signbit(value); }

// Returns a part of a complex number as `2` instead of `2.0`, which reads better; arithmetic gives
// the same.
std::string without_fraction(std::string text) {
  if (text.ends_with(".0") && text != "-0.0") text.resize(text.size() - 2);
  return text;
}

std::string imaginary_text(double value) {
  return std::isnan(value) ? kImaginaryNan : without_fraction(magnitude_text(value)) + 'j';
}

// Returns the sum or difference that is folded to (real, imag), or nothing.
//
// Signs of zero decide. Before 3.14 the real operand is made complex first, so that a - 0j has the
// imaginary part 0 - 0 = 0; from 3.14 on (gh-69639) it has -0. Both lose the sign of -0.0 + bj.
std::string complex_sum(double real, double imag, bool mixed_arithmetic) {
  const std::string left = without_fraction(float_number(real).text);
  const bool minus_keeps = std::isnan(imag) || (mixed_arithmetic ? std::signbit(imag)
                                                : imag == 0      ? !std::signbit(imag)
                                                                 : std::signbit(imag));
  const bool plus_keeps = (std::isnan(imag) || !std::signbit(imag)) && !is_negative_zero(real);
  if (plus_keeps) return left + " + " + imaginary_text(imag);
  if (minus_keeps) return left + " - " + imaginary_text(imag);
  return {};
}

// Returns an expression that is folded to a complex number, which has no literal.
Number complex_number(double real, double imag, object::Version version) {
  const bool mixed_arithmetic = version.minor >= 14;
  const bool imaginary = real == 0 && !std::isnan(imag);
  if (imaginary && std::signbit(real) == std::signbit(imag)) {
    const std::string text = imaginary_text(imag);
    if (std::signbit(imag)) return {'-' + text, Level::Factor};
    return {text, Level::Primary};
  }
  std::string sum = complex_sum(real, imag, mixed_arithmetic);
  if (!sum.empty()) return {sum, Level::Arith};
  sum = complex_sum(-real, -imag, mixed_arithmetic);
  PELLUCID_CHECK(!sum.empty());
  return {"-(" + sum + ")", Level::Factor};
}

// Returns the decimal digits of a hexadecimal magnitude: nine at a time, by long division.
std::string decimal_of(std::string_view hex) {
  std::vector<uint32_t> limbs;  // base 10^9, lowest first
  for (const char c : hex) {
    const uint32_t digit = static_cast<uint32_t>(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
    uint64_t carry = digit;
    for (uint32_t& limb : limbs) {
      carry += uint64_t{limb} * 16;
      limb = static_cast<uint32_t>(carry % 1'000'000'000);
      carry /= 1'000'000'000;
    }
    if (carry != 0) limbs.push_back(static_cast<uint32_t>(carry));
  }
  if (limbs.empty()) return "0";
  std::string out = std::to_string(limbs.back());
  for (size_t i = limbs.size() - 1; i-- > 0;) {
    const std::string part = std::to_string(limbs[i]);
    out.append(9 - part.size(), '0');
    out += part;
  }
  return out;
}

Number big_number(std::string_view text) {
  const bool negative = text.starts_with('-');
  const std::string_view hex = text.substr(negative ? 1 : 0);
  std::string out = negative ? "-" : "";
  // A hexadecimal digit is 1.21 decimal digits.
  std::string decimal = hex.size() < kMaxDecimalDigits ? decimal_of(hex) : std::string();
  if (decimal.empty() || decimal.size() > kMaxDecimalDigits) {
    out += "0x";
    out += hex;
  } else {
    out += decimal;
  }
  return {out, negative ? Level::Factor : Level::Primary};
}

}  // namespace

Number number_of(const object::Module& module, const object::Const& value,
                 object::Version version) {
  switch (value.kind) {
    case object::ConstKind::Int:
      return {std::to_string(value.integer), value.integer < 0 ? Level::Factor : Level::Primary};
    case object::ConstKind::BigInt:
      return big_number(module.text(value.text));
    case object::ConstKind::Float:
      return float_number(value.real);
    case object::ConstKind::Complex:
      return complex_number(value.real, value.imag, version);
    default:
      PELLUCID_CHECK(false);
      return {};
  }
}

}  // namespace pellucid::print
