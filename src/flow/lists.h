// SPDX-License-Identifier: Apache-2.0
// flow: one list for each block, stored end to end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "flow/graph.h"

namespace pellucid::flow {

template <typename Member>
class ListsByBlock {
 public:
  ListsByBlock() = default;
  // `fill(add)` calls add(owner, member) for each of them, and is called twice: to count, and to
  // store. The order of the calls is kept within an owner.
  template <typename Fill>
  ListsByBlock(size_t owners, const Fill& fill) : begin_(owners + 1, 0) {
    fill([&](BlockId owner, const Member&) { ++begin_[owner.index() + 1]; });
    for (size_t i = 1; i <= owners; ++i) begin_[i] += begin_[i - 1];
    items_.resize(begin_[owners]);
    std::vector<uint32_t> at(begin_.begin(), begin_.end() - 1);
    fill([&](BlockId owner, const Member& member) { items_[at[owner.index()]++] = member; });
  }

  std::span<const Member> operator[](BlockId owner) const {
    return {items_.data() + begin_[owner.index()], items_.data() + begin_[owner.index() + 1]};
  }
  size_t size() const { return begin_.empty() ? 0 : begin_.size() - 1; }

 private:
  std::vector<uint32_t> begin_;
  std::vector<Member> items_;
};

}  // namespace pellucid::flow
