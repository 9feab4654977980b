// SPDX-License-Identifier: Apache-2.0
// How long a copy of code may be, how far to look for copies, and tables in which they are found: a
// tail, the end of a block, has a key that equal tails have.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
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

// The values that a tail computes itself, with their places there.
using InsideTail = std::unordered_map<ValueId, uint32_t>;

using TailKey = std::vector<uint32_t>;

// The tails that were seen, by their keys.
struct HashOfKey {
  size_t operator()(const TailKey& key) const {
    uint32_t hash = 0;
    for (const uint32_t number : key) hash = (hash ^ number) * 0x9e3779b1u + (hash >> 15);
    return hash ^ (hash >> 16);
  }
};
using KnownTails = std::unordered_map<TailKey, BlockId, HashOfKey>;

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
