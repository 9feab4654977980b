// SPDX-License-Identifier: Apache-2.0
// StringPool: interned strings. Equal strings have equal Symbols, so names compare as integers.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/ids.h"

namespace pellucid {

// The bytes lie one string after the other in chunks that never move. A copy of a pool shares the
// chunks that there are, gives every string the Symbol that it has, and adds to chunks of its own:
// what adds strings to a copy leaves the original as it is. The index is a hash table with linear
// probing; strings that find no place near their own, since many have one hash, are in a tree.
class StringPool {
 public:
  // The Symbol of `text`; the bytes are copied on first sight. Any bytes are allowed, NUL included.
  Symbol intern(std::string_view text) {
    const uint32_t hash = hash_of(text);
    if (const Symbol known = find(text, hash); known.valid()) return known;
    const Symbol symbol(views_.size());
    views_.push_back(copied(text));
    if (2 * views_.size() > slots_.size()) {
      grow(hash);
    } else {
      fill({hash, symbol});
    }
    return symbol;
  }

  // The Symbol of `text` if it is already here, else an invalid one.
  Symbol find(std::string_view text) const { return find(text, hash_of(text)); }

  std::string_view view(Symbol symbol) const { return part_of(views_, symbol); }
  size_t size() const { return views_.size(); }

  StringPool() = default;
  ~StringPool() = default;
  StringPool(StringPool&& other) noexcept = default;
  StringPool& operator=(StringPool&& other) noexcept = default;
  StringPool(const StringPool& other)
      : views_(other.views_),
        slots_(other.slots_),
        crowded_(other.crowded_),
        chunks_(other.chunks_) {
    // What is left of the last chunk is the original's.
    if (!chunks_.empty()) chunks_.back().used = chunks_.back().size;
  }
  StringPool& operator=(const StringPool&) = delete;

 private:
  static constexpr size_t kChunk = 4096;
  static constexpr size_t kMostProbes = 64;

  struct Slot {
    uint32_t hash = 0;
    Symbol symbol;  // invalid: the slot is empty
  };

  struct Chunk {
    std::shared_ptr<char[]> bytes;
    size_t size;
    size_t used;
  };

  // Eight bytes at a time; most strings are names of less than sixteen.
  static uint32_t hash_of(std::string_view text) {
    uint64_t hash = text.size();
    size_t at = 0;
    for (; at + sizeof(uint64_t) <= text.size(); at += sizeof(uint64_t)) {
      hash = mixed(hash, number_at<uint64_t>(text, at));
    }
    if (at + sizeof(uint32_t) <= text.size()) {
      hash = mixed(hash, number_at<uint32_t>(text, at));
      at += sizeof(uint32_t);
    }
    for (; at < text.size(); ++at) hash = mixed(hash, static_cast<uint8_t>(text[at]));
    return static_cast<uint32_t>(hash);
  }
  static uint64_t mixed(uint64_t hash, uint64_t part) {
    hash = (hash ^ part) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 32;
  }
  template <typename Number>
  static Number number_at(std::string_view text, size_t at) {
    Number number = 0;
    std::memcpy(&number, text.data() + at, sizeof number);
    return number;
  }
  size_t next(size_t at) const { return (at + 1) & (slots_.size() - 1); }

  Symbol find(std::string_view text, uint32_t hash) const {
    if (slots_.empty()) return {};
    size_t at = hash & (slots_.size() - 1);
    for (size_t left = kMostProbes; left > 0 && slots_[at].symbol.valid(); --left, at = next(at)) {
      if (slots_[at].hash == hash && view(slots_[at].symbol) == text) return slots_[at].symbol;
    }
    if (crowded_.empty()) return {};
    const auto found = crowded_.find(text);
    return found == crowded_.end() ? Symbol() : found->second;
  }

  void fill(Slot slot) {
    size_t at = slot.hash & (slots_.size() - 1);
    for (size_t left = kMostProbes; left > 0; --left, at = next(at)) {
      if (slots_[at].symbol.valid()) continue;
      slots_[at] = slot;
      return;
    }
    crowded_.emplace(view(slot.symbol), slot.symbol);
  }

  // Makes room for the last string, too, which has no slot yet.
  void grow(uint32_t hash_of_last) {
    const std::vector<Slot> before = std::exchange(
        slots_, std::vector<Slot>(std::bit_ceil(std::max<size_t>(64, 4 * views_.size()))));
    for (const Slot& slot : before) {
      if (slot.symbol.valid()) fill(slot);
    }
    fill({hash_of_last, Symbol(views_.size() - 1)});
  }

  std::string_view copied(std::string_view text) {
    if (text.empty()) return {};
    if (chunks_.empty() || text.size() > chunks_.back().size - chunks_.back().used) {
      const size_t size = std::max(kChunk, text.size());
      chunks_.push_back({std::shared_ptr<char[]>(new char[size]), size, 0});
    }
    Chunk& chunk = chunks_.back();
    char* const bytes = chunk.bytes.get() + chunk.used;
    std::memcpy(bytes, text.data(), text.size());
    chunk.used += text.size();
    return {bytes, text.size()};
  }

  std::vector<std::string_view> views_;  // by Symbol
  std::vector<Slot> slots_;              // a power of two of them, half of them empty
  std::map<std::string_view, Symbol> crowded_;
  std::vector<Chunk> chunks_;  // strings are in the order of their Symbols
};

}  // namespace pellucid
