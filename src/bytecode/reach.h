// SPDX-License-Identifier: Apache-2.0
// bytecode: code units -> raw instructions, along the paths that execution takes.
//
// Where all the bytes of a code object are instructions, read_raw has read them. Where they are
// not, only what is reached matters: jumps, falls and handlers are followed from the first
// instruction on, and bytes that none of them leads to cost nothing. An instruction may be reached
// with its EXTENDED_ARGs and without: then there are two. A test of a constant that comes right
// before it, on every path, goes one way.
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
  std::vector<Fault> faults;             // that belong to no instruction
};

// Reads what execution reaches. What it does not reach is read too, up to the first byte that is no
// instruction, for those who look at what compilers leave behind. What is reached and is no
// instruction has a step that says so; the last one may stand past the end of the bytes, for
// control that leaves them.
Reach read_reached(const object::Module& module, const object::Code& code);

// The instructions at a place of the bytecode, for a reader: `12 <250> 7, 14 LOAD_CONST 200, ...`.
std::string instructions_at(const object::Code& code, size_t begin, size_t end);

}  // namespace pellucid::bytecode
