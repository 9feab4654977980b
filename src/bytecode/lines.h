// SPDX-License-Identifier: Apache-2.0
// bytecode: reads CPython's three formats of line tables into one, and the columns of the latest.
#pragma once

#include <cstdint>
#include <span>

#include "bytecode/stream.h"
#include "object/code.h"
#include "object/places.h"

namespace pellucid::bytecode {

// Sets the lines of instructions, which are in the order of their offsets; those that the table
// says nothing of keep theirs. Returns false if the table is cut off.
bool set_lines(const object::Code& code, std::span<RawInstr> instrs);

// Returns the place of each code unit. None is known before 3.11, with `-X no_debug_ranges`, and
// for a broken table.
object::Places places_of(const object::Code& code);

}  // namespace pellucid::bytecode
