// SPDX-License-Identifier: Apache-2.0
// object: what is known of the object of an Opaque constant, stored as its `integer`.
#pragma once

#include <cstdint>

namespace pellucid::object {

enum class Known : int64_t {
  Nothing,
  Iter,         // the built-in function `iter`
  ReturnsNone,  // a function whose code is now that of `lambda: None` (facts.h)
  // Rotates + n: a function of n arguments whose code now returns them as a tuple, the last one
  // last and those before it in reverse: `lambda a, b, c: (b, a, c)`. Unpacked, the last one is
  // below the others.
  Rotates,
};

constexpr uint32_t kMostRotated = 255;

constexpr int64_t rotates(uint32_t count) { return static_cast<int64_t>(Known::Rotates) + count; }

// Returns the number of arguments of such a function; 0 for other objects.
constexpr uint32_t rotated(int64_t known) {
  const int64_t count = known - static_cast<int64_t>(Known::Rotates);
  return count > 0 && count <= kMostRotated ? static_cast<uint32_t>(count) : 0;
}

}  // namespace pellucid::object
