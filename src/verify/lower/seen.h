// SPDX-License-Identifier: Apache-2.0
// verify::lower: which names were seen before.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_set>

#include "base/ids.h"

namespace pellucid::verify::lower {

// Names that were seen. Mostly these are few.
class Seen {
 public:
  // Returns true if the name was not seen before.
  bool insert(Symbol name) {
    const auto end = few_.begin() + count_;
    if (std::find(few_.begin(), end, name) != end) return false;
    if (count_ == kFew) return many_.insert(name).second;
    few_[count_++] = name;
    return true;
  }

 private:
  static constexpr size_t kFew = 8;
  std::array<Symbol, kFew> few_;
  uint32_t count_ = 0;  // of these
  std::unordered_set<Symbol> many_;
};

}  // namespace pellucid::verify::lower
