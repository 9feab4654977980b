// SPDX-License-Identifier: Apache-2.0
// verify::lower: a canonical, fully parenthesised notation of expressions.
//
// Both the reader of texts and the reader of trees build it, so that the results can be compared as
// strings.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pellucid::verify::lower {

// Thrown if an expression is of an unsupported kind, or written in an unsupported way.
struct NotKnown {};

inline constexpr uint32_t kDeepestMeaning = 100;

// Returns `(what part part ...)`.
std::string made(std::string_view what, const std::vector<std::string>& parts);
// Returns the notation of a string; `kind` is 's' for text, 'b' for bytes.
std::string text_constant(char kind, std::string_view text);
std::string float_constant(double value);
std::optional<int64_t> integer_of(std::string_view meaning);
std::string integer(int64_t value);

// Return an operation, or its result for integers, as the compiler folds it. Throw NotKnown for
// integer results that are not computed here (overflow, other operators).
std::string binary(std::string_view op, const std::string& left, const std::string& right);
std::string unary(std::string_view op, const std::string& operand);

}  // namespace pellucid::verify::lower
