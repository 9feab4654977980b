// SPDX-License-Identifier: Apache-2.0
// ast: the kinds of nodes, and sets of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace pellucid::ast {

enum class Kind : uint8_t {
#define FIELD(type, name)
#define NODE(kind, category, fields) kind,
#include "ast/nodes.def"
#undef NODE
#undef FIELD
};

inline constexpr size_t kKinds = 0
#define FIELD(type, name)
#define NODE(kind, category, fields) +1
#include "ast/nodes.def"
#undef NODE
#undef FIELD
    ;

class Kinds {
 public:
  constexpr Kinds() = default;
  constexpr Kinds(std::initializer_list<Kind> kinds) {
    for (const Kind kind : kinds) add(kind);
  }
  static constexpr Kinds all() {
    Kinds kinds;
    kinds.words_.fill(~uint64_t{0});
    return kinds;
  }

  constexpr void add(Kind kind) { word_of(kind) |= bit_of(kind); }
  constexpr void add(Kinds others) {
    for (size_t i = 0; i < kWords; ++i) words_[i] |= others.words_[i];
  }
  constexpr bool has(Kind kind) const {
    return (words_[static_cast<size_t>(kind) / 64] & bit_of(kind)) != 0;
  }
  // Returns true if the sets have a kind in common.
  constexpr bool meets(Kinds others) const {
    uint64_t common = 0;
    for (size_t i = 0; i < kWords; ++i) common |= words_[i] & others.words_[i];
    return common != 0;
  }

 private:
  static constexpr size_t kWords = (kKinds + 63) / 64;
  static constexpr uint64_t bit_of(Kind kind) {
    return uint64_t{1} << (static_cast<size_t>(kind) % 64);
  }
  constexpr uint64_t& word_of(Kind kind) { return words_[static_cast<size_t>(kind) / 64]; }

  std::array<uint64_t, kWords> words_{};
};

}  // namespace pellucid::ast
