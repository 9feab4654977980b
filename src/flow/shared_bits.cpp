// SPDX-License-Identifier: Apache-2.0
#include "flow/shared_bits.h"

namespace pellucid::flow {
namespace {

constexpr uint32_t kBitsOfWord = 64;
constexpr uint32_t kBitsOfChild = 4;  // of the number of a word, at each level

uint32_t child_of(uint32_t word, uint32_t level) {
  return word >> (kBitsOfChild * (level - 1)) & ((1u << kBitsOfChild) - 1);
}

}  // namespace

SharedBits::SharedBits(size_t limit) {
  words_.push_back(0);
  for (size_t held = kBitsOfWord; held < limit; held *= kFanOut) {
    Node node;
    node.fill(none_);
    none_ = static_cast<Set>(nodes_.size());
    nodes_.push_back(node);
    ++levels_;
  }
  freeze();
}

bool SharedBits::has(Set set, uint32_t bit) const {
  const uint32_t word = bit / kBitsOfWord;
  for (uint32_t level = levels_; level > 0; --level) set = nodes_[set][child_of(word, level)];
  return (words_[set] >> (bit % kBitsOfWord) & 1) != 0;
}

SharedBits::Set SharedBits::with(Set set, uint32_t bit, bool is) {
  if (has(set, bit) == is) return set;
  return with_at(set, bit / kBitsOfWord, uint64_t{1} << (bit % kBitsOfWord), is, levels_);
}

SharedBits::Set SharedBits::with_at(Set set, uint32_t word, uint64_t bit, bool is, uint32_t level) {
  if (level == 0) {
    const uint64_t bits = is ? words_[set] | bit : words_[set] & ~bit;
    if (set < frozen_words_) {
      set = static_cast<Set>(words_.size());
      words_.push_back(bits);
    } else {
      words_[set] = bits;
    }
    return set;
  }
  const uint32_t child = child_of(word, level);
  const Set changed = with_at(nodes_[set][child], word, bit, is, level - 1);
  if (set < frozen_nodes_) {
    const Node copied = nodes_[set];
    set = static_cast<Set>(nodes_.size());
    nodes_.push_back(copied);
  }
  nodes_[set][child] = changed;
  return set;
}

void SharedBits::freeze() {
  frozen_words_ = words_.size();
  frozen_nodes_ = nodes_.size();
}

SharedBits::Set SharedBits::either(Set one, Set other) {
  return one == other ? one : either_at(one, other, levels_);
}

// Returns `one` if it has all of `other`, so that nothing has changed.
SharedBits::Set SharedBits::either_at(Set one, Set other, uint32_t level) {
  if (one == other) return one;
  if (level == 0) {
    const uint64_t bits = words_[one] | words_[other];
    if (bits == words_[one]) return one;
    if (bits == words_[other]) return other;
    words_.push_back(bits);
    return static_cast<Set>(words_.size() - 1);
  }
  const uint64_t both = uint64_t{one} << 32 | other;
  if (const auto known = unions_.find(both); known != unions_.end()) return known->second;
  Node node;
  for (uint32_t i = 0; i < kFanOut; ++i) {
    node[i] = either_at(nodes_[one][i], nodes_[other][i], level - 1);
  }
  Set made = static_cast<Set>(nodes_.size());
  if (node == nodes_[one]) {
    made = one;
  } else if (node == nodes_[other]) {
    made = other;
  } else {
    nodes_.push_back(node);
  }
  unions_.emplace(both, made);
  return made;
}

}  // namespace pellucid::flow
