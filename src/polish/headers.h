// SPDX-License-Identifier: Apache-2.0
// polish: the header of a function, as far as its code object tells.
#pragma once

#include <cstdint>

#include "object/code.h"

namespace pellucid::polish {

struct Header {
  int32_t width = 0;  // of `def f(a, *, b): `, without defaults and annotations (in other code)
  int32_t depth = 0;  // how many classes and functions are around it
};

Header header_of(const object::Module& module, const object::Code& code);

}  // namespace pellucid::polish
