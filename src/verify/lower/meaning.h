// SPDX-License-Identifier: Apache-2.0
// verify::lower: an expression in one way of writing it, with every parenthesis.
//
// What is read from text and what is read from a tree are built of these, so that they can be
// compared as strings.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pellucid::verify::lower {

// Thrown where an expression is of a kind, or written in a way, that is not known here.
struct NotKnown {};

inline constexpr uint32_t kDeepestMeaning = 100;

// `(what part part ...)`
std::string made(std::string_view what, const std::vector<std::string>& parts);
// `kind`: 's' of text, 'b' of bytes.
std::string text_constant(char kind, std::string_view text);
std::string float_constant(double value);
std::optional<int64_t> integer_of(std::string_view meaning);
std::string integer(int64_t value);

// Operations; the compiler computes what it can of integers. NotKnown: the result has more bits.
std::string binary(std::string_view op, const std::string& left, const std::string& right);
std::string unary(std::string_view op, const std::string& operand);

}  // namespace pellucid::verify::lower
