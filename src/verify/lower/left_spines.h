// SPDX-License-Identifier: Apache-2.0
// verify::lower: operators, attributes, subscripts and calls that lean to the left:
// `a.b(c)[d] + e`.
#pragma once

#include "verify/lower/unit.h"

namespace pellucid::verify::lower {

// Pushes the value of a BinOp, Attribute, Subscript or Call. Its left spine may be of any length,
// so it is lowered without recursion: down to the operand that is evaluated first, then up again
// applying the operations.
void left_spine(Unit& unit, NodeId node);

}  // namespace pellucid::verify::lower
