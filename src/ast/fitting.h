// SPDX-License-Identifier: Apache-2.0
// ast: replaces names of a tree that no text can have in their places.
#pragma once

#include "ast/tree.h"

namespace pellucid::ast {

// Replaces each name below `top` that is invalid in its place by its replacement, the same
// everywhere (object/fitting_names.h). After this every name of the tree is a name of its text.
void fit_names(Tree& tree, NodeId top);

}  // namespace pellucid::ast
