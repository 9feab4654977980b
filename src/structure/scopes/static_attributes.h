// SPDX-License-Identifier: Apache-2.0
// structure: attributes of `self` that only dead code of a class assigns.
//
// From 3.13 on a class keeps the names of all attributes that its methods assign to `self`, in
// `__static_attributes__`, whether control ever gets there or not.
#pragma once

#include <span>

#include "ast/tree.h"

namespace pellucid::structure {

// `body` is that of a class, with what the compiler put at its end. The names that no method
// assigns are said by an `if False:` in one: the first that has a `self`, else, if `self` would be
// no variable of a function around the class, the first of all.
void keep_static_attributes(ast::Tree& tree, std::span<const ast::NodeId> body,
                            bool is_self_bound_outside);

}  // namespace pellucid::structure
