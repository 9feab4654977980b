// StringPool: interned strings. Equal strings have equal Symbols, so names compare as integers.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/ids.h"

namespace pellucid {

class StringPool {
 public:
  // The Symbol of `text`; the bytes are copied on first sight. Any bytes are allowed, NUL included.
  Symbol intern(std::string_view text) {
    auto it = index_.find(text);
    if (it != index_.end()) return it->second;
    const Symbol symbol(strings_.size());
    strings_.emplace_back(text);
    index_.emplace(std::string_view(strings_.back()), symbol);
    return symbol;
  }

  // The Symbol of `text` if it is already here, else an invalid one.
  Symbol find(std::string_view text) const {
    auto it = index_.find(text);
    return it == index_.end() ? Symbol() : it->second;
  }

  // Forgets all but the first `size` strings.
  void shrink(size_t size) {
    while (strings_.size() > size) {
      index_.erase(std::string_view(strings_.back()));
      strings_.pop_back();
    }
  }

  std::string_view view(Symbol symbol) const { return strings_[symbol.index()]; }
  size_t size() const { return strings_.size(); }

  StringPool() = default;
  StringPool(StringPool&&) = default;
  StringPool& operator=(StringPool&&) = default;
  StringPool(const StringPool&) = delete;
  StringPool& operator=(const StringPool&) = delete;

 private:
  std::deque<std::string> strings_;  // a deque: views into it stay valid as it grows
  std::unordered_map<std::string_view, Symbol> index_;
};

}  // namespace pellucid
