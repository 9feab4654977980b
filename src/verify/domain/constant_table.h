// SPDX-License-Identifier: Apache-2.0
// The names and constants of both modules, unified: equal ones have equal numbers. From here on no
// text is compared.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "object/code.h"

namespace pellucid::verify {

using Name = Symbol;  // in ConstantTable::names_, never in a module's pool

enum class Side : uint8_t { A, B };
inline constexpr size_t index(Side side) { return side == Side::A ? 0 : 1; }
inline constexpr Side other(Side side) { return side == Side::A ? Side::B : Side::A; }

// A constant, with items that are numbers of constants: equal constants have equal numbers.
struct Constant {
  object::ConstKind kind = object::ConstKind::None;
  int64_t integer =
      0;  // of an Opaque one: object::Known; of a float or complex: whether it is true
  double real = 0;
  double imag = 0;
  Name text;
  std::vector<uint32_t> items;
};

class ConstantTable {
 public:
  ConstantTable(const object::Module& a, const object::Module& b);

  const object::Module& module(Side side) const { return *modules_[index(side)]; }
  std::string_view text(Name name) const { return names_.view(name); }
  Name name(std::string_view text) { return names_.intern(text); }
  Name name(Side side, Symbol symbol);

  const Constant& operator[](uint32_t number) const { return constants_[number]; }
  uint32_t number(Side side, object::ConstId id) {
    const std::vector<uint32_t>& known = numbers_[index(side)];
    const bool is_known = id.index() < known.size() && known[id.index()] != kUnnumbered;
    return is_known ? known[id.index()] : new_number(side, id);
  }
  // Returns true if these have one number; tells without numbering the simple ones.
  bool same(object::ConstId in_a, object::ConstId in_b);
  // Returns what messages say of a constant.
  const std::string& repr(uint32_t number) const;
  // Returns the number of a constant that its kind determines, such as None.
  uint32_t number_of(object::ConstKind kind);
  // Returns the number of the tuple or slice of these constants.
  uint32_t number_of(object::ConstKind kind, std::vector<uint32_t> items);
  // Returns the number of the constant that a global of this name represents, if A has an object
  // that is no literal and B loads it by the name it was given.
  std::optional<uint32_t> opaque(Name name) const;

 private:
  static constexpr uint32_t kUnnumbered = 0xffffffffu;

  uint32_t new_number(Side side, object::ConstId id);
  std::string new_repr(const Constant& constant) const;
  uint32_t intern(Constant constant, const std::string& key);
  uint32_t intern_one(Side side, const object::Const& value);

  const object::Module* modules_[2];
  StringPool names_;
  std::vector<Name> unified_[2];      // by Symbol of the module
  std::vector<uint32_t> numbers_[2];  // by ConstId; kUnnumbered: not yet
  std::vector<Constant> constants_;
  mutable std::vector<std::string> reprs_;  // of the first constants: few verdicts need any
  std::unordered_map<std::string, uint32_t> constant_index_;
  std::unordered_map<uint32_t, uint32_t> opaques_;  // Name -> number of the constant
};

}  // namespace pellucid::verify
