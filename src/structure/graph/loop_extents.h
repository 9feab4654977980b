// SPDX-License-Identifier: Apache-2.0
// LoopSpans: into which loop code was written, by where it lies in the bytecode.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "ir/function.h"

namespace pellucid::structure {

class LoopSpans {
 public:
  explicit LoopSpans(const ir::Function& function);

  // Where the innermost loop ends that holds what lies at `offset` and does not start there; 0:
  // there is none.
  uint32_t end_around(uint32_t offset) const;

 private:
  // From this offset on, up to the next entry, the innermost loop ends there.
  std::vector<std::pair<uint32_t, uint32_t>> ends_;
};

}  // namespace pellucid::structure
