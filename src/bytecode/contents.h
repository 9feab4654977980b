// SPDX-License-Identifier: Apache-2.0
// bytecode: what of a code object its instructions use, and what is there beside that.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "object/code.h"

namespace pellucid::bytecode {

struct Contents {
  std::vector<bool> loads;   // by index of the constants; docstrings count as loaded
  std::vector<bool> uses;    // by index of the names
  std::string operands;      // arguments of instructions that have none, zeros left out, in order
  uint32_t operands_at = 0;  // the offset of the first one
  uint32_t junk = 0;         // bytes that no path reaches and that are no instructions
  uint32_t junk_at = 0;
};

// Where every byte is an instruction, what stands in dead code is used as well: compilers leave
// some. Else only what a path leads to counts.
Contents contents_of(const object::Module& module, const object::Code& code);

}  // namespace pellucid::bytecode
