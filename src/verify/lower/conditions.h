// SPDX-License-Identifier: Apache-2.0
// verify::lower: `and`, `or`, conditional expressions, comparisons, and jumps by any of them.
#pragma once

#include "verify/lower/unit.h"

namespace pellucid::verify::lower {

// Each pushes the value.
void boolean(Unit& unit, const ast::BoolOp& node);
void conditional(Unit& unit, const ast::IfExp& node);
void comparison(Unit& unit, const ast::Compare& chain);

// Jumps to `to` if the truth of `test` is `when`; its operators and conditions are jumps, too.
void jump_if(Unit& unit, NodeId test, bool when, Label to);

}  // namespace pellucid::verify::lower
