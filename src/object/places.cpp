// SPDX-License-Identifier: Apache-2.0
#include "object/places.h"

#include <algorithm>

namespace pellucid::object {

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

uint32_t Places::end_of_place(uint32_t unit) const {
  if (ends_.empty()) {
    uint32_t end = size();
    ends_.resize(end);
    for (uint32_t at = end; at-- > 0;) {
      if (at + 1 < ends_.size() && !is_same(at, at + 1)) end = at + 1;
      ends_[at] = end;
    }
  }
  return ends_[unit];
}

}  // namespace pellucid::object
