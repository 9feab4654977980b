// SPDX-License-Identifier: Apache-2.0
// bytecode: how well a module fits the version that it was read as. Whoever does not know the
// version reads the bytes as each and takes the one that fits.
//
// Every code object is looked at from its first code unit to its last: opcodes that the version
// lacks, arguments that name nothing, jumps to where no instruction starts, caches that are not
// empty, tables that end too early or too late. What runs is not asked: that costs more and tells
// little more.
#pragma once

#include <cstdint>

#include "object/code.h"

namespace pellucid::bytecode {

struct Fit {
  uint64_t instructions = 0;
  uint64_t faults = 0;     // what no code of the version has
  uint64_t oddities = 0;   // what no compiler of the version writes, though it may run
  bool is_named = false;   // file names say that it is this version ("lib/python3.9/os.py")
  bool is_missed = false;  // ... or that it is another one
};

Fit fit_of(const object::Module& module);

// Returns true if both modules, read from the same bytes as two versions, have the same canonical
// instructions with the same handlers and operands: either version runs the same program.
bool same_program(const object::Module& a, const object::Module& b);

}  // namespace pellucid::bytecode
