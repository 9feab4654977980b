// SPDX-License-Identifier: Apache-2.0
// How long a copy of code may be, how far to look for copies, and tables in which they are found: a
// tail, the end of a block, has a key that equal tails have.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "structure/graph/graph.h"

namespace pellucid::structure {

// CPython copies a block to the jumps to it (tail duplication) if it leaves the code and has at
// most four instructions: MAX_COPY_SIZE, of compile.c in 3.10 and 3.11 and of flowgraph.c since.
inline constexpr size_t kCopiedInstructions = 4;
// The same in items: RETURN_CONST and BINARY_SLICE are two each, and both may be in one block.
inline constexpr size_t kCopiedItems = 6;
// A copy may contain blocks that have become empty, or hold a marker alone: at most this many.
inline constexpr size_t kCopiedBlocks = 8;

// Copies among the endings of one line are close together, however many endings a `finally` adds to
// the line. Each ending is compared with this many after it: comparing all would take quadratic
// time.
inline constexpr size_t kFarthestCopy = 32;

// A place in a `finally` body corresponds to several places of its copy if the compiler has copied
// its ending once more. With more places than this, the correspondence is unknown.
inline constexpr size_t kMostCopies = 8;
// The most ends that a copy of a `finally` body may have: they have to mean the same, two by two.
inline constexpr size_t kMostEnds = 16;

inline constexpr uint32_t kInside = 0x80000000u;  // an operand that the tail computes itself
inline constexpr uint32_t kPart = 0xfffffffdu;    // one that is a part of it

// A number for each value that a tail computes itself: its place there.
class InsideTail {
 public:
  // Returns the place of a value; kNone for one from elsewhere.
  uint32_t of(ValueId value) const {
    return value.index() < places_.size() ? places_[value.index()] - 1 : kNone;
  }
  void add(ValueId value) {
    if (places_.size() <= value.index()) places_.resize(2 * value.index() + 1);
    values_.push_back(value);
    places_[value.index()] = static_cast<uint32_t>(values_.size());
  }
  bool empty() const { return values_.empty(); }
  void clear() {
    for (const ValueId value : values_) places_[value.index()] = 0;
    values_.clear();
  }

  static constexpr uint32_t kNone = ~0u;

 private:
  std::vector<uint32_t> places_;  // by value: one more than its place
  std::vector<ValueId> values_;
};

using TailKey = std::vector<uint32_t>;

// The tails that were seen, by keys that lie in one list: a hash table with linear probing.
class KnownTails {
 public:
  // Adds a tail. If there is one with this key, returns its block instead, and false.
  std::pair<BlockId*, bool> add(const TailKey& key, BlockId block) {
    if (2 * tails_.size() >= slots_.size()) grow();
    uint32_t hash = 0;
    for (const uint32_t number : key) hash = (hash ^ number) * 0x9e3779b1u + (hash >> 15);
    size_t at = slot_of(hash);
    for (; slots_[at] != 0; at = (at + 1) & (slots_.size() - 1)) {
      Tail& tail = tails_[slots_[at] - 1];
      if (tail.hash == hash && is_key_of(tail, key)) return {&tail.block, false};
    }
    tails_.push_back({numbers_.size(), key.size(), hash, block});
    numbers_.insert(numbers_.end(), key.begin(), key.end());
    slots_[at] = static_cast<uint32_t>(tails_.size());
    return {&tails_.back().block, true};
  }

  template <typename Visit>
  void for_each(Visit visit) const {
    for (const Tail& tail : tails_) visit(tail.block);
  }

  void clear() {
    tails_.clear();
    numbers_.clear();
    std::fill(slots_.begin(), slots_.end(), 0);
  }

 private:
  struct Tail {
    size_t begin, size;  // of its key, in numbers_
    uint32_t hash;
    BlockId block;
  };

  size_t slot_of(uint32_t hash) const { return (hash ^ (hash >> 16)) & (slots_.size() - 1); }
  bool is_key_of(const Tail& tail, const TailKey& key) const {
    const auto first = numbers_.begin() + static_cast<ptrdiff_t>(tail.begin);
    return std::equal(key.begin(), key.end(), first, first + static_cast<ptrdiff_t>(tail.size));
  }
  void grow() {
    constexpr size_t kFirst = 16;
    slots_.assign(std::max(kFirst, 2 * slots_.size()), 0);
    for (size_t i = 0; i < tails_.size(); ++i) {
      size_t at = slot_of(tails_[i].hash);
      while (slots_[at] != 0) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = static_cast<uint32_t>(i + 1);
    }
  }

  std::vector<Tail> tails_;
  std::vector<uint32_t> numbers_;  // all keys, one after the other
  std::vector<uint32_t> slots_;    // a power of two of them; 0: free, else one more than a tail
};

// What equal tails have in common whatever their length, as a number for each block: most blocks
// have a number of their own, and need no key.
class Signatures {
 public:
  void add(uint32_t signature) { all_.push_back(signature); }
  // To be called once all were added. Returns true if some are equal.
  bool find_shared() {
    std::sort(all_.begin(), all_.end());
    size_t shared = 0;
    for (size_t i = 1; i < all_.size(); ++i) {
      if (all_[i] == all_[i - 1]) all_[shared++] = all_[i];
    }
    all_.resize(shared);
    return shared > 0;
  }
  bool is_shared(uint32_t signature) const {
    return std::binary_search(all_.begin(), all_.end(), signature);
  }
  void clear() { all_.clear(); }

 private:
  std::vector<uint32_t> all_;  // in order; in the end those that several have
};

}  // namespace pellucid::structure
