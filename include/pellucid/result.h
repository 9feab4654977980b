// SPDX-License-Identifier: Apache-2.0
// Result<T>: a value, or one error that says what is wrong with the input and where.
//
// Errors are for bad input only.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>

namespace pellucid {

// What went wrong, for programs; `message` is for people.
enum class ErrorCode : uint8_t {
  Truncated,       // the input ends too early
  Malformed,       // the input breaks a rule of its format
  UnknownVersion,  // not a CPython version that pellucid reads
  Unsupported,     // valid, but not covered yet
  Limit,           // deeper or larger than pellucid accepts
  Internal,        // a CHECK failed: a bug in pellucid
};

// Lower case, no full stop, what and where: `marshal: reference 17 out of range`.
struct Error {
  ErrorCode code = ErrorCode::Malformed;
  uint64_t offset = 0;  // byte offset in the input (file or bytecode, as the message says)
  std::string message;
};

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& value() { return std::get<0>(state_); }
  const T& value() const { return std::get<0>(state_); }
  T& operator*() { return value(); }
  const T& operator*() const { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  const Error& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, Error> state_;
};

// `PELLUCID_TRY(auto x, f());` unwraps a Result or returns its error.
#define PELLUCID_CONCAT_(a, b) a##b
#define PELLUCID_CONCAT(a, b) PELLUCID_CONCAT_(a, b)
#define PELLUCID_TRY_(tmp, decl, expr) \
  auto tmp = (expr);                   \
  if (!tmp.ok()) return tmp.error();   \
  decl = std::move(*tmp)
#define PELLUCID_TRY(decl, expr) PELLUCID_TRY_(PELLUCID_CONCAT(try_, __LINE__), decl, expr)

}  // namespace pellucid
