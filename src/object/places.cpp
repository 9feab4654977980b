// SPDX-License-Identifier: Apache-2.0
#include "object/places.h"

#include <algorithm>
#include <utility>

namespace pellucid::object {

Places::Places(std::vector<Run> runs, std::vector<uint32_t> nops, std::vector<uint32_t> leaves)
    : runs_(std::move(runs)), nops_(std::move(nops)), leaves_(std::move(leaves)) {
  run_of_.resize(runs_.empty() ? 0 : runs_.back().end);
  uint32_t unit = 0;
  for (size_t i = 0; i < runs_.size(); ++i) {
    for (; unit < runs_[i].end; ++unit) run_of_[unit] = static_cast<uint32_t>(i);
  }
  for (size_t i = runs_.size(); i-- > 1;) {
    Run& before = runs_[i - 1];
    if (before.place.columns == runs_[i].place.columns) before.end = runs_[i].end;
  }
}

bool Places::is_nop(uint32_t unit) const {
  return std::binary_search(nops_.begin(), nops_.end(), unit);
}

bool Places::leaves(uint32_t unit) const {
  return std::binary_search(leaves_.begin(), leaves_.end(), unit);
}

bool Places::only_leaves(uint32_t unit) const {
  const uint32_t next = unit + 1;
  return leaves(unit) || (next < size() && leaves(next) && is_same(unit, next));
}

bool Places::comes_to(uint32_t unit, uint32_t later) const {
  const auto next = std::lower_bound(leaves_.begin(), leaves_.end(), unit);
  return next == leaves_.end() || *next >= later;
}

// A jump may have one unit of cache.
bool Places::is_left_before(uint32_t unit) const {
  return unit > 1 && (leaves(unit - 1) || leaves(unit - 2));
}

uint32_t Places::last_leaving(uint32_t unit) const {
  const auto next = std::lower_bound(leaves_.begin(), leaves_.end(), unit);
  return next == leaves_.begin() ? kNoUnit : *(next - 1);
}

}  // namespace pellucid::object
