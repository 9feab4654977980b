// SPDX-License-Identifier: Apache-2.0
// bytecode: reads CPython's three formats of line tables into one, and the columns of the latest.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "object/code.h"
#include "object/columns.h"

namespace pellucid::bytecode {

// Returns the line of each code unit (two bytes of bytecode), kNoLine where the table has none. A
// table that is cut off or runs past the bytecode is an error.
Result<std::vector<int32_t>> lines_of_units(const object::Code& code);

// Returns the columns of each code unit; empty if there are none: before 3.11, with `-X
// no_debug_ranges`, and for a broken table.
std::vector<object::Columns> columns_of_units(const object::Code& code);

// Returns the units that hold a NOP, in order. The compiler leaves one where a line has no other
// code: at `while True:`, at `pass`.
std::vector<uint32_t> units_without_code(const object::Code& code);

}  // namespace pellucid::bytecode
