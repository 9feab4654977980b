// SPDX-License-Identifier: Apache-2.0
// Locals that an inlined comprehension (3.12+) has borrowed from the body around it.
#pragma once

#include "ast/tree.h"
#include "ir/function.h"

namespace pellucid::fallback {

// Locals of a module or class body are those of comprehensions: the body's own names are others.
// Parameters without a name of Python's get one.
void rename_hidden_locals(ir::Function& function, ast::Tree& tree);

// A comprehension's name that is a cell of the body around it lies in the cell's place for the
// time being. Here it becomes a local with a name of its own, and the cell stays where it is.
void free_borrowed_cells(ir::Function& function, ast::Tree& tree);

}  // namespace pellucid::fallback
