// SPDX-License-Identifier: Apache-2.0
// bytecode: which parts of a code object its instructions use, and which they do not.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "object/code.h"

namespace pellucid::bytecode {

struct Contents {
  std::vector<bool> loads;   // by index of the constants; docstrings count as loaded
  std::vector<bool> uses;    // by index of the names
  std::string operands;      // nonzero arguments of instructions that take none, in order
  uint32_t operands_at = 0;  // the offset of the first one
  uint32_t junk = 0;         // unreachable bytes that are not instructions
  uint32_t junk_at = 0;
};

// Returns true if the first constant of a code object is a docstring: no instruction loads it.
bool has_docstring(const object::Module& module, const object::Code& code);

// Returns the contents. If all bytes are instructions, dead code counts as a use too, since
// compilers leave some; otherwise only reachable code counts. `is_straight`: nothing is junk, since
// Fit::is_straight is known.
Contents contents_of(const object::Module& module, const object::Code& code, bool is_straight);

}  // namespace pellucid::bytecode
