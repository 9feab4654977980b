// SPDX-License-Identifier: Apache-2.0
// verify::lower: loops, and the iterators that they and comprehensions have on the stack.
#pragma once

#include "verify/lower/unit.h"

namespace pellucid::verify::lower {

void while_loop(Unit& unit, const ast::While& node);
void for_loop(Unit& unit, const ast::For& node);

// Replaces the iterable on the stack by its iterator, with the slot that 3.15 has above it.
void get_iterator(Unit& unit);
void drop_iterator(Unit& unit);

// Pushes the next item of the asynchronous iterator on the stack; if there is none, control goes to
// `exhausted`, which place_exhausted() places.
void next_of_async(Unit& unit, Label exhausted);
void place_exhausted(Unit& unit, Label exhausted);

}  // namespace pellucid::verify::lower
