// SPDX-License-Identifier: Apache-2.0
// bytecode: the names of each version's opcodes and the kinds of their arguments, as in `dis`.
//
// They come from src/bytecode/raw/<version>.def, which tools/gen_opcodes.py writes from each
// interpreter's own `opcode` module. The meanings of the instructions are in meanings.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "object/code.h"

namespace pellucid::bytecode {

enum RawKind : uint16_t {
  kNoArg = 0,
  kArg = 1,
  kConst = 2,
  kName = 4,
  kLocal = 8,
  kFree = 16,
  kCompare = 32,
  kJumpRelative = 64,
  kJumpAbsolute = 128,
  kBackward = 256,  // with kJumpRelative
  kAnyJump = kJumpRelative | kJumpAbsolute,
};

struct RawOpcode {
  std::string_view name;  // empty: the number is not used
  uint16_t kinds = kNoArg;
  uint8_t caches = 0;  // code units of inline cache after the instruction
};

using RawTable = std::array<RawOpcode, 256>;

// Returns the table of a supported version (3.8-3.15); CHECK-fails on others.
const RawTable& raw_table(object::Version version);

}  // namespace pellucid::bytecode
