// SPDX-License-Identifier: Apache-2.0
// Locals that an inlined comprehension (3.12+) has borrowed from the body around it
// (push_inlined_comprehension_state).
#pragma once

#include "ast/tree.h"
#include "ir/function.h"

namespace pellucid::fallback {

// Renames the locals of a module or class body, which are those of comprehensions, apart from the
// names of the body itself. Gives parameters a name if theirs is no Python name.
void rename_hidden_locals(ir::Function& function, ast::Tree& tree);

// A comprehension's variable that is a cell of the body around it takes the place of that cell
// while the comprehension runs. Makes it a local with another name, so that the cell stays in
// place.
void free_borrowed_cells(ir::Function& function, ast::Tree& tree);

}  // namespace pellucid::fallback
