// SPDX-License-Identifier: Apache-2.0
// verify::lower: comprehensions, which are functions, and from 3.12 on, except generator
// expressions, inlined loops that save the variables of the enclosing function on the stack
// (PEP 709).
#pragma once

#include "verify/lower/unit.h"

namespace pellucid::verify::lower {

void comprehension(Unit& unit, NodeId node);

}  // namespace pellucid::verify::lower
