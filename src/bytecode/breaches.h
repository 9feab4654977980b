// SPDX-License-Identifier: Apache-2.0
// bytecode: what every program of a version fulfils, so that the canonical instructions say all of
// it.
//
// CPython trusts its compiler. Many arguments have bits that an instruction's meaning in ops.def
// does not hold, since a valid program has them in one way only; tables of names, flags and the
// first instructions say the same thing twice; and what stands next to each other is read together.
// Where code breaks one of these rules it is still decompiled, as what it seems to be, but CPython
// may run something else: nothing is proven of it (verify/compare.h). Rules about the stack and the
// ways through the code are in flow/audit.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "bytecode/stream.h"

namespace pellucid::bytecode {

// The first rule that a code object breaks, and where.
struct Breach {
  std::string what;
  uint32_t offset = 0;  // in bytes
};

std::optional<Breach> find_breach(const object::Module& module, const Stream& stream);

}  // namespace pellucid::bytecode
