// SPDX-License-Identifier: Apache-2.0
// bytecode: the three line tables of CPython, read into one form, and the columns of the last one.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "object/code.h"
#include "object/columns.h"

namespace pellucid::bytecode {

// The line of each code unit (two bytes of bytecode), kNoLine where the table says "artificial" or
// says nothing. A table that is cut off or runs past the bytecode is an error.
Result<std::vector<int32_t>> lines_of_units(const object::Code& code);

// The columns of each code unit; empty where there are none: before 3.11, with `-X
// no_debug_ranges`, and for a broken table.
std::vector<object::Columns> columns_of_units(const object::Code& code);

}  // namespace pellucid::bytecode
