// SPDX-License-Identifier: Apache-2.0
// LoopSpans: the loop in which code was written, by its offset in the bytecode.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "ir/function.h"

namespace pellucid::structure {

class LoopSpans {
 public:
  explicit LoopSpans(const ir::Function& function);

  // Returns the end of the innermost loop that contains `offset` and starts before it; 0: there is
  // none.
  uint32_t end_around(uint32_t offset) const;

 private:
  // (start, end): from offset `start` to the start of the next entry, the innermost loop ends at
  // `end`.
  std::vector<std::pair<uint32_t, uint32_t>> ends_;
};

}  // namespace pellucid::structure
