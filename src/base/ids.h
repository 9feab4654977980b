// SPDX-License-Identifier: Apache-2.0
// Typed 32-bit ids.
//
// Products refer to each other's parts by id, never by pointer: an id survives the growth of the
// vector that owns the part, costs four bytes, and cannot be mixed up with an id of another kind.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace pellucid {

template <typename Tag>
struct Id {
  static constexpr uint32_t kInvalid = 0xffffffffu;
  uint32_t value = kInvalid;

  constexpr Id() = default;
  constexpr explicit Id(uint32_t v) : value(v) {}
  constexpr explicit Id(size_t v) : value(static_cast<uint32_t>(v)) {}
  constexpr bool valid() const { return value != kInvalid; }
  constexpr size_t index() const { return value; }
  friend constexpr auto operator<=>(Id, Id) = default;
};

// An interned string (see StringPool).
using Symbol = Id<struct SymbolTag>;

}  // namespace pellucid

template <typename Tag>
struct std::hash<pellucid::Id<Tag>> {
  size_t operator()(pellucid::Id<Tag> id) const noexcept { return id.value; }
};
