// SPDX-License-Identifier: Apache-2.0
// Ways: the edges into each block, in the order in which they were added.
//
// An edge is in at most one list, as a link between its neighbours, so that it is removed in
// constant time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

#include "flow/graph.h"

namespace pellucid::structure {

struct Way {
  flow::BlockId from;
  uint8_t edge = 0;
};

class Ways {
  static constexpr uint32_t kNone = ~0u;

  struct Link {
    uint32_t before = kNone, after = kNone;
    flow::BlockId into;  // invalid: in no list
  };
  struct List {
    uint32_t first = kNone, last = kNone, count = 0;
  };

 public:
  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = Way;
    using difference_type = std::ptrdiff_t;
    using pointer = const Way*;
    using reference = Way;

    Iterator() = default;
    Iterator(const Ways* ways, uint32_t at) : ways_(ways), at_(at) {}
    Way operator*() const { return way_of(at_); }
    Iterator& operator++() {
      at_ = ways_->links_[at_].after;
      return *this;
    }
    Iterator operator++(int) {
      const Iterator here = *this;
      ++*this;
      return here;
    }
    bool operator==(const Iterator& other) const { return at_ == other.at_; }

   private:
    const Ways* ways_ = nullptr;
    uint32_t at_ = kNone;
  };

  // The ways into one block. Valid until a way is added or removed.
  class Into {
   public:
    Into(const Ways& ways, flow::BlockId block) : ways_(&ways) {
      // A new block without ways has no list.
      if (block.index() < ways.lists_.size()) list_ = ways.lists_[block.index()];
    }
    size_t size() const { return list_.count; }
    bool empty() const { return list_.count == 0; }
    Way front() const { return way_of(list_.first); }
    Way back() const { return way_of(list_.last); }
    Iterator begin() const { return {ways_, list_.first}; }
    Iterator end() const { return {ways_, kNone}; }
    // For callers that change the ways while they iterate.
    std::vector<Way> copy() const { return {begin(), end()}; }

   private:
    const Ways* ways_;
    List list_;
  };

  // The number of blocks with a list.
  size_t size() const { return lists_.size(); }
  void clear(size_t blocks) {
    lists_.assign(blocks, {});
    links_.assign(2 * blocks, {});
  }

  Into into(flow::BlockId block) const { return {*this, block}; }

  // The same as set(), for an edge in no list, into a block that was there at clear().
  void add(Way way, flow::BlockId to) {
    const size_t at = index_of(way);
    List& list = lists_[to.index()];
    links_[at] = {list.last, kNone, to};
    (list.last == kNone ? list.first : links_[list.last].after) = static_cast<uint32_t>(at);
    list.last = static_cast<uint32_t>(at);
    ++list.count;
  }

  // Makes `to` the target of the edge, as the last of the ways into it; an invalid `to` removes the
  // edge.
  void set(Way way, flow::BlockId to) {
    const size_t at = index_of(way);
    if (at >= links_.size()) links_.resize(at + 1);
    remove(at);
    if (!to.valid()) return;
    if (to.index() >= lists_.size()) lists_.resize(to.index() + 1);
    add(way, to);
  }

 private:
  static size_t index_of(Way way) { return 2 * way.from.index() + way.edge; }
  static Way way_of(uint32_t at) { return {flow::BlockId(at / 2), static_cast<uint8_t>(at % 2)}; }

  void remove(size_t at) {
    Link& link = links_[at];
    if (!link.into.valid()) return;
    List& list = lists_[link.into.index()];
    (link.before == kNone ? list.first : links_[link.before].after) = link.after;
    (link.after == kNone ? list.last : links_[link.after].before) = link.before;
    --list.count;
    link = {};
  }

  std::vector<List> lists_;  // by block
  std::vector<Link> links_;  // by edge: two of each block
};

}  // namespace pellucid::structure
