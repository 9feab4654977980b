// SPDX-License-Identifier: Apache-2.0
// verify::lower: assignments, plain and augmented, and deletions. annotations.h has those with
// annotations.
#pragma once

#include "verify/lower/unit.h"

namespace pellucid::verify::lower {

void assignment(Unit& unit, const ast::Assign& node);
void augmented_assignment(Unit& unit, const ast::AugAssign& node);
void delete_target(Unit& unit, NodeId target);

// Assigns the value on the stack to `target`.
void assign(Unit& unit, NodeId target);
// Moves the top of the stack to a depth.
void move_down(Unit& unit, uint32_t depth);
// Where the text of an assignment breaks its line, which keeps compilers from reordering the stores
// before and after (ast/lines.h).
struct Breaks {
  bool before_values = false;
  bool between_targets = false;
};

// Assigns two or three values straight from the stack, without a tuple (3.11+); returns false if
// that does not apply.
bool assign_in_parallel(Unit& unit, NodeId target, NodeId value, Breaks breaks);

}  // namespace pellucid::verify::lower
