// SPDX-License-Identifier: Apache-2.0
// bytecode: the rules that all compiled code of a version obeys, so that the canonical instructions
// lose nothing of it.
//
// CPython trusts its compiler. Many arguments have bits that ops.def leaves out, since valid code
// sets them in one way only; tables of names, flags and the first instructions are redundant; and
// adjacent instructions are read together. Code that breaks one of these rules is still decompiled
// as what it seems to be, but CPython may run it differently: nothing is proven of it
// (verify/compare.h). The rules about the stack and control flow are in flow/audit.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "bytecode/stream.h"

namespace pellucid::bytecode {

// A rule that a code object breaks, and the offset.
struct Breach {
  std::string what;
  uint32_t offset = 0;  // in bytes
};

// Of Stream::parted and flow::Graph::parted.
inline constexpr std::string_view kPartsWhole = "the exception table parts what belongs together";

// Returns the first breach; none: the code obeys all rules. `is_generated`: it was written by a
// program whose facts hold (object/facts.h), so that its frames are not looked at. Dynamo leaves
// cells in co_cellvars that nothing makes.
std::optional<Breach> find_breach(const object::Module& module, const Stream& stream,
                                  bool is_generated);

}  // namespace pellucid::bytecode
