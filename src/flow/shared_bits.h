// SPDX-License-Identifier: Apache-2.0
// flow: sets of numbers below a limit that share what they have in common.
//
// What is known at each block of a function differs little from one block to the next. A set here
// is the root of a tree of words that never changes once it is shared: a set with one more number
// has one new path, and a union only looks at what is not the same in both.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace pellucid::flow {

class SharedBits {
 public:
  using Set = uint32_t;

  explicit SharedBits(size_t limit);

  // Returns the empty set.
  Set none() const { return none_; }

  bool has(Set set, uint32_t bit) const;

  // Adds or removes a number. A path that no other set has is changed in place: until the next
  // freeze(), only the set that this returns is valid, not the one that it was made of.
  Set with(Set set, uint32_t bit, bool is);

  // Keeps all sets made so far as they are.
  void freeze();

  // Returns the union of two sets that are frozen: `one` itself if it has all of `other`.
  Set either(Set one, Set other);

 private:
  static constexpr uint32_t kFanOut = 16;
  using Node = std::array<Set, kFanOut>;

  Set either_at(Set one, Set other, uint32_t level);
  Set with_at(Set set, uint32_t word, uint64_t bit, bool is, uint32_t level);

  uint32_t levels_ = 0;          // above the words
  std::vector<uint64_t> words_;  // the sets of level 0
  std::vector<Node> nodes_;      // those above: sets of one level lower
  size_t frozen_words_ = 0;
  size_t frozen_nodes_ = 0;
  std::unordered_map<uint64_t, Set> unions_;  // of nodes, by both
  Set none_ = 0;
};

}  // namespace pellucid::flow
