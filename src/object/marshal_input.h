// SPDX-License-Identifier: Apache-2.0
// object: the numbers and lengths of a marshalled object, in the order of its bytes. Private to
// marshal_reader.cpp.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/result.h"

namespace pellucid::object {

// The bytes of a marshalled object, and the first error in them.
class MarshalInput {
 public:
  MarshalInput(std::span<const uint8_t> bytes, uint64_t base) : bytes_(bytes), base_(base) {}

  size_t size() const { return bytes_.size(); }
  size_t at() const { return at_; }
  size_t started() const { return start_; }
  const Error& error() const { return error_; }

  // Starts an object, at which malformed() is reported.
  void start() { start_ = at_; }

  // All below return false after an error, take() excepted.

  bool fail(ErrorCode code, const std::string& what, size_t at) {
    char where[40];
    std::snprintf(where, sizeof where, " at byte 0x%llx",
                  static_cast<unsigned long long>(base_ + at));
    error_ = Error{code, base_ + at, "marshal: " + what + where};
    return false;
  }
  bool malformed(const std::string& what) { return fail(ErrorCode::Malformed, what, start_); }
  bool need(size_t count) { return bytes_.size() - at_ >= count || cut_off(); }

  bool byte(uint8_t& out) {
    if (!need(1)) return false;
    out = bytes_[at_++];
    return true;
  }
  template <typename T>
  bool little_endian(T& out) {
    if (!need(sizeof(T))) return false;
    std::make_unsigned_t<T> value = 0;
    if constexpr (std::endian::native == std::endian::little) {
      std::memcpy(&value, bytes_.data() + at_, sizeof value);
    } else {
      for (size_t i = sizeof(T); i-- > 0;) {
        value = static_cast<std::make_unsigned_t<T>>(value << 8 | bytes_[at_ + i]);
      }
    }
    at_ += sizeof(T);
    out = static_cast<T>(value);
    return true;
  }
  // Reads the length of a sequence whose items take at least one byte each.
  bool length(uint32_t& out) {
    int32_t value = 0;
    if (!little_endian(value)) return false;
    if (value < 0) return malformed("negative length");
    out = static_cast<uint32_t>(value);
    return need(out);
  }
  bool short_length(uint32_t& out) {
    uint8_t value = 0;
    if (!byte(value)) return false;
    out = value;
    return need(out);
  }
  std::string_view take(size_t count) {
    const std::string_view text(reinterpret_cast<const char*>(bytes_.data()) + at_, count);
    at_ += count;
    return text;
  }
  bool text_float(double& out) {
    uint32_t count = 0;
    if (!short_length(count)) return false;
    const std::string text(take(count));
    char* end = nullptr;
    out = std::strtod(text.c_str(), &end);
    return (count > 0 && end == text.c_str() + count) || malformed("text is not a float");
  }

 private:
  [[gnu::cold, gnu::noinline]] bool cut_off() {
    return fail(ErrorCode::Truncated, "unexpected end", bytes_.size());
  }

  std::span<const uint8_t> bytes_;
  uint64_t base_;
  size_t at_ = 0;
  size_t start_ = 0;  // of the object being read
  Error error_;
};

}  // namespace pellucid::object
