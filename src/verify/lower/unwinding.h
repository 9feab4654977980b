// SPDX-License-Identifier: Apache-2.0
// verify::lower: jumps out of statements, which unwind those that they leave: they end handlers,
// call __exit__, and run finally bodies.
#pragma once

#include <cstddef>

#include "verify/lower/unit.h"

namespace pellucid::verify::lower {

// `break` and `continue`.
void leave_loop(Unit& unit, bool is_continue);
// Unwinds the enclosing statements down to `depth`, innermost first. Code compiled meanwhile is
// enclosed by the remaining statements. `keeps_value`: the value on top of the stack stays there.
void unwind_to(Unit& unit, size_t depth, bool keeps_value);

}  // namespace pellucid::verify::lower
