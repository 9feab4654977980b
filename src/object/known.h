// SPDX-License-Identifier: Apache-2.0
// What is known of the object that an Opaque constant stands for: its `integer`.
#pragma once

#include <cstdint>

namespace pellucid::object {

enum class Known : int64_t {
  Nothing,
  Iter,         // the built-in function `iter`
  ReturnsNone,  // a function whose code is that of `lambda: None`, now at least (facts.h)
  // This and a number more: a function of so many arguments, whose code, now at least, returns them
  // as a tuple, the last one last and those before it from the back: `lambda a, b, c: (b, a, c)`.
  // Unpacked, the last one lies below the others.
  Rotates,
};

constexpr uint32_t kMostRotated = 255;

constexpr int64_t rotates(uint32_t count) { return static_cast<int64_t>(Known::Rotates) + count; }

// Of how many arguments it is such a function; 0: it is none.
constexpr uint32_t rotated(int64_t known) {
  const int64_t count = known - static_cast<int64_t>(Known::Rotates);
  return count > 0 && count <= kMostRotated ? static_cast<uint32_t>(count) : 0;
}

}  // namespace pellucid::object
