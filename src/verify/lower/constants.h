// SPDX-License-Identifier: Apache-2.0
// verify::lower: the constants of the module under construction, and what pushes them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "object/code.h"

namespace pellucid::verify::lower {

using object::ConstId;

struct Unit;

// Makes constants. There is one None, and one constant for each text and each number.
class Constants {
 public:
  explicit Constants(object::Module& module);

  ConstId none() const { return none_; }
  ConstId text(std::string_view text);
  ConstId number(int64_t value);
  ConstId tuple(const std::vector<ConstId>& items);
  ConstId code(object::CodeId id);

 private:
  object::Module& module_;
  std::unordered_map<std::string, ConstId> texts_;
  std::unordered_map<int64_t, ConstId> numbers_;
  ConstId none_;
};

void load(Unit& unit, ConstId id);
void load_none(Unit& unit);
void load_text(Unit& unit, std::string_view text);
void load_number(Unit& unit, int64_t value);

}  // namespace pellucid::verify::lower
