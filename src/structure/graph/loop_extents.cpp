// SPDX-License-Identifier: Apache-2.0
#include "structure/graph/loop_extents.h"

#include <algorithm>

namespace pellucid::structure {

LoopSpans::LoopSpans(const ir::Function& function) {
  std::vector<std::pair<uint32_t, uint32_t>> loops;  // start, end
  for (const ir::Block& block : function.blocks) {
    if (block.loop_end > block.offset) loops.emplace_back(block.offset, block.loop_end);
  }
  std::sort(loops.begin(), loops.end());
  std::vector<uint32_t> open;  // ends, the innermost last
  const auto close_before = [&](uint32_t offset) {
    while (!open.empty() && open.back() <= offset) {
      const uint32_t at = open.back();
      while (!open.empty() && open.back() <= at) open.pop_back();
      ends_.emplace_back(at, open.empty() ? 0 : open.back());
    }
  };
  for (const auto& [start, end] : loops) {
    close_before(start);
    open.push_back(end);
    ends_.emplace_back(start + 1, end);
  }
  close_before(~0u);
}

uint32_t LoopSpans::end_around(uint32_t offset) const {
  const auto next =
      std::upper_bound(ends_.begin(), ends_.end(), offset,
                       [](uint32_t value, const auto& entry) { return value < entry.first; });
  return next == ends_.begin() ? 0 : std::prev(next)->second;
}

}  // namespace pellucid::structure
