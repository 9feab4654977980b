// SPDX-License-Identifier: Apache-2.0
// Numbers that are the same in every run.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pellucid::testing {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint32_t below(size_t limit) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<uint32_t>((state_ >> 33) % limit);
  }

 private:
  uint64_t state_;
};

}  // namespace pellucid::testing
