// SPDX-License-Identifier: Apache-2.0
// bytecode: code units -> raw instructions, along the paths that execution takes.
//
// If all bytes of a code object are instructions, read_raw is used. Otherwise only reachable code
// matters: jumps, fall-throughs and handlers are followed from the first instruction on, and
// unreachable bytes are ignored. An instruction may be reached with its EXTENDED_ARGs and without:
// then there are two. A test of a constant that is loaded right before it, on every path, has one
// successor.
#pragma once

#include <string>
#include <vector>

#include "bytecode/read_raw.h"
#include "bytecode/translate.h"

namespace pellucid::bytecode {

struct Reach {
  std::vector<RawInstr> raw;             // by start
  std::vector<Step> steps;               // one for each of `raw`
  std::vector<RawException> exceptions;  // 3.11+
  std::vector<Fault> faults;             // faults without an instruction
};

// Reads the reachable instructions. Unreachable code is read too, up to the first byte that is not
// an instruction, since it shows what compilers leave behind. A reached place that is not an
// instruction gets a step with a fault; the last one may be past the end of the bytes, for control
// flow that runs off the end.
Reach read_reached(const object::Module& module, const object::Code& code);

// Returns the instructions in a range of the bytecode for a message: `12 <250> 7, 14 LOAD_CONST
// 200, ...`.
std::string instructions_at(const object::Code& code, size_t begin, size_t end);

}  // namespace pellucid::bytecode
