// SPDX-License-Identifier: Apache-2.0
// bytecode: reads CPython's three formats of line tables into one, and the columns of the latest.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bytecode/stream.h"
#include "object/code.h"
#include "object/columns.h"

namespace pellucid::bytecode {

// Sets the lines of instructions, which are in the order of their offsets; those that the table
// says nothing of keep theirs. Returns false if the table is cut off.
bool set_lines(const object::Code& code, std::span<RawInstr> instrs);

// Returns the columns of each code unit; empty if there are none: before 3.11, with `-X
// no_debug_ranges`, and for a broken table.
std::vector<object::Columns> columns_of_units(const object::Code& code);

// The units that do nothing but hold a place, in order.
struct PlaceUnits {
  std::vector<uint32_t> nops;    // the compiler leaves one where a line has no other code: `pass`
  std::vector<uint32_t> leaves;  // jumps without a condition, returns and raises
};
PlaceUnits units_without_code(const object::Code& code);

}  // namespace pellucid::bytecode
