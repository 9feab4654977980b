// SPDX-License-Identifier: Apache-2.0
// structure: attributes of `self` that only dead code of a class assigns.
//
// From 3.13 on a class keeps the names of all attributes that its methods assign to `self`, in
// `__static_attributes__`, whether or not the assignment is ever reached.
#pragma once

#include <span>

#include "ast/tree.h"

namespace pellucid::structure {

// Adds an `if False:` for the names that no method assigns: to the first function with a parameter
// `self`, or to the first of all, if `self` would be no variable of a function around the class.
// `body` is that of a class, with what the compiler put at its end.
void keep_static_attributes(ast::Tree& tree, std::span<const ast::NodeId> body,
                            bool is_self_bound_outside);

}  // namespace pellucid::structure
