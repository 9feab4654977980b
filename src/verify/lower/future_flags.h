// SPDX-License-Identifier: Apache-2.0
// The flags of code objects that `from __future__` sets.
#pragma once

#include <cstdint>

#include "object/code.h"
#include "verify/lower/features.h"

namespace pellucid::verify::lower {

struct FutureFlags {
  uint32_t annotations;
  uint32_t barry;  // barry_as_FLUFL
};

// Returns the flags for the module's version. They changed in 3.9 and in some releases of 3.8,
// which the module's own flags tell apart.
inline FutureFlags future_flags_of(const object::Module& module) {
  const bool has_moved = features_of(module.version).moved_future_flags ||
                         (module[module.root].flags & 0xf000000u) != 0;
  return has_moved ? FutureFlags{0x1000000, 0x400000} : FutureFlags{0x100000, 0x40000};
}

}  // namespace pellucid::verify::lower
