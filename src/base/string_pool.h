// StringPool: interned strings. Equal strings have equal Symbols, so names compare as integers.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/ids.h"

namespace pellucid {

// The bytes lie one string behind the other in chunks that never move. The index is a hash table
// with linear probing whose slots were filled in the order of the strings: the last string can be
// taken out of it again by emptying its slot.
class StringPool {
 public:
  // The Symbol of `text`; the bytes are copied on first sight. Any bytes are allowed, NUL included.
  Symbol intern(std::string_view text) {
    const uint32_t hash = hash_of(text);
    if (const Symbol known = find(text, hash); known.valid()) return known;
    const Symbol symbol(views_.size());
    views_.push_back(copied(text));
    if (2 * views_.size() > slots_.size()) {
      grow();
    } else {
      fill({hash, symbol});
    }
    return symbol;
  }

  // The Symbol of `text` if it is already here, else an invalid one.
  Symbol find(std::string_view text) const { return find(text, hash_of(text)); }

  // Forgets all but the first `size` strings.
  void shrink(size_t size) {
    while (views_.size() > size) {
      const std::string_view last = views_.back();
      size_t at = hash_of(last) & (slots_.size() - 1);
      while (slots_[at].symbol != Symbol(views_.size() - 1)) at = next(at);
      slots_[at] = {};
      views_.pop_back();
      if (last.empty()) continue;
      chunks_.back().used -= last.size();
      if (chunks_.back().used == 0) chunks_.pop_back();
    }
  }

  std::string_view view(Symbol symbol) const { return part_of(views_, symbol); }
  size_t size() const { return views_.size(); }

  StringPool() = default;
  StringPool(StringPool&&) = default;
  StringPool& operator=(StringPool&&) = default;
  StringPool(const StringPool&) = delete;
  StringPool& operator=(const StringPool&) = delete;

 private:
  static constexpr size_t kChunk = 4096;

  struct Slot {
    uint32_t hash = 0;
    Symbol symbol;  // invalid: the slot is empty
  };

  struct Chunk {
    std::unique_ptr<char[]> bytes;
    size_t size;
    size_t used;
  };

  static uint32_t hash_of(std::string_view text) {
    return static_cast<uint32_t>(std::hash<std::string_view>()(text));
  }
  size_t next(size_t at) const { return (at + 1) & (slots_.size() - 1); }

  Symbol find(std::string_view text, uint32_t hash) const {
    if (slots_.empty()) return {};
    for (size_t at = hash & (slots_.size() - 1); slots_[at].symbol.valid(); at = next(at)) {
      if (slots_[at].hash == hash && view(slots_[at].symbol) == text) return slots_[at].symbol;
    }
    return {};
  }

  void fill(Slot slot) {
    size_t at = slot.hash & (slots_.size() - 1);
    while (slots_[at].symbol.valid()) at = next(at);
    slots_[at] = slot;
  }

  void grow() {
    slots_.assign(std::max<size_t>(64, 4 * views_.size()), {});
    slots_.resize(std::bit_ceil(slots_.size()));
    for (size_t i = 0; i < views_.size(); ++i) fill({hash_of(views_[i]), Symbol(i)});
  }

  std::string_view copied(std::string_view text) {
    if (text.empty()) return {};
    if (chunks_.empty() || text.size() > chunks_.back().size - chunks_.back().used) {
      const size_t size = std::max(kChunk, text.size());
      chunks_.push_back({std::make_unique_for_overwrite<char[]>(size), size, 0});
    }
    Chunk& chunk = chunks_.back();
    char* const bytes = chunk.bytes.get() + chunk.used;
    std::memcpy(bytes, text.data(), text.size());
    chunk.used += text.size();
    return {bytes, text.size()};
  }

  std::vector<std::string_view> views_;  // by Symbol
  std::vector<Slot> slots_;              // a power of two of them, half of them empty
  std::vector<Chunk> chunks_;            // strings are in the order of their Symbols
};

}  // namespace pellucid
