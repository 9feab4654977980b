// SPDX-License-Identifier: Apache-2.0
// pickle: the stack and the memo of the machine. Private to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "pickle/graph.h"

namespace pellucid::pickle {

using Items = std::vector<ValueId>;

// The stack, with the marks that divide it: only what is above the last mark can be taken.
class Stack {
 public:
  size_t size() const { return values_.size(); }
  size_t size_with_marks() const { return values_.size() + marks_.size(); }
  bool has_mark() const { return !marks_.empty(); }
  bool has(size_t count) const {
    return values_.size() >= (marks_.empty() ? 0 : marks_.back()) + count;
  }
  void push(ValueId id) { values_.push_back(id); }
  ValueId top() const { return values_.back(); }

  void mark() { marks_.push_back(values_.size()); }
  // Removes the last mark if nothing is above it.
  bool drop_mark() {
    if (marks_.empty() || marks_.back() != values_.size()) return false;
    marks_.pop_back();
    return true;
  }

  // Takes the top values, the lowest first; they must exist.
  Items take(size_t count) {
    const auto from = values_.end() - static_cast<std::ptrdiff_t>(count);
    Items items(from, values_.end());
    values_.erase(from, values_.end());
    return items;
  }
  // Takes everything above the last mark, and the mark.
  std::optional<Items> take_marked() {
    if (marks_.empty()) return std::nullopt;
    const size_t count = values_.size() - marks_.back();
    marks_.pop_back();
    return take(count);
  }

 private:
  std::vector<ValueId> values_;
  std::vector<size_t> marks_;
};

// The values that PUT and MEMOIZE remember. Their indices usually follow each other.
class Memo {
 public:
  size_t size() const { return near_.size() + far_.size(); }
  void put(uint64_t index, ValueId id) {
    if (index < near_.size()) {
      near_[index] = id;
    } else if (index == near_.size() && far_.empty()) {
      near_.push_back(id);
    } else {
      far_[index] = id;
    }
  }
  const ValueId* find(uint64_t index) const {
    if (index < near_.size()) return &near_[index];
    const auto found = far_.find(index);
    return found == far_.end() ? nullptr : &found->second;
  }

 private:
  std::vector<ValueId> near_;
  std::unordered_map<uint64_t, ValueId> far_;
};

}  // namespace pellucid::pickle
