// SPDX-License-Identifier: Apache-2.0
// bytecode: how well a module fits the version that it was read as. If the version is unknown, the
// bytes are read as each version and the best fit is taken.
//
// Every code object is scanned from its first code unit to its last for opcodes that the version
// lacks, arguments out of range, jumps to offsets where no instruction starts, caches that are not
// empty, and tables of the wrong length. Reachability is not considered: it costs more and adds
// little.
#pragma once

#include <cstdint>
#include <vector>

#include "object/code.h"

namespace pellucid::bytecode {

struct Fit {
  uint64_t instructions = 0;
  uint64_t faults = 0;    // impossible in any code of the version
  uint64_t oddities = 0;  // valid, but written by no compiler of the version
  // All bytes are instructions whose names and constants exist, and each jump and handler leads to
  // where one starts.
  bool is_straight = true;
  // By code object: its instructions use every name, text and code object that it has, and no
  // operand without a meaning is other than zero. What of it the text does not show, no table
  // tells.
  std::vector<bool> uses_all;
  bool is_named = false;   // file names contain this version ("lib/python3.9/os.py")
  bool is_missed = false;  // ... or another one
};

Fit fit_of(const object::Module& module);

// Returns true if both modules, read from the same bytes as two versions, have the same canonical
// instructions with the same handlers and operands: either version runs the same program.
bool same_program(const object::Module& a, const object::Module& b);

}  // namespace pellucid::bytecode
