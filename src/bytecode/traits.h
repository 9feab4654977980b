// SPDX-License-Identifier: Apache-2.0
// bytecode: properties of raw opcodes that are needed for every instruction of every file, by
// number.
#pragma once

#include <array>
#include <cstdint>

#include "bytecode/meanings.h"
#include "bytecode/raw_table.h"
#include "object/code.h"

namespace pellucid::bytecode {

// The opcodes that code refers to by name.
enum class Mark : uint8_t {
  None,
#define MARK(name, mnemonic) name,
#include "bytecode/marks.def"
#undef MARK
};

// What the argument of an opcode must be below, or be.
enum class Bound : uint8_t {
  None,
  Const,
  Name,
  Local,
  Variable,  // a cell or a free variable
  Compare,
  Operator,
  SmallInt,
  Resume,
  TwoLocals,  // four bits each
  FreeVars,   // their number
};

struct Traits {
  uint16_t kinds = 0;         // RawKind
  uint8_t caches = 0;         // code units
  uint8_t length = 2;         // in bytes, with its caches
  uint8_t name_shift = 0;     // bits of the argument below a name's index
  bool is_known = false;      // may occur in a code object
  bool is_instr = false;      // the same but for CACHE
  bool holds_place = false;   // a NOP, or does not fall through
  bool falls_through = true;  // the next instruction may run after it
  Bound bound = Bound::None;
  Form form = Form::Never;
  Mark mark = Mark::None;
  const Meaning* meaning = nullptr;  // null: the version has no such opcode
};

// Returns true if the opcode refers to a local, a cell or a free variable.
inline bool is_of_variable(const Traits& traits) { return (traits.kinds & (kLocal | kFree)) != 0; }

// Returns true for LOAD_FAST and its variants.
inline bool loads_local(Mark mark) {
  return mark == Mark::LoadFast || mark == Mark::LoadFastCheck || mark == Mark::LoadFastBorrow ||
         mark == Mark::LoadFastAndClear || mark == Mark::LoadFastLoadFast ||
         mark == Mark::LoadFastBorrowLoadFastBorrow;
}

using TraitsTable = std::array<Traits, 256>;

const TraitsTable& traits_of(object::Version version);

}  // namespace pellucid::bytecode
