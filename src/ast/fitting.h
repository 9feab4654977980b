// SPDX-License-Identifier: Apache-2.0
// Names of a tree that no text can have where they stand.
#pragma once

#include "ast/tree.h"

namespace pellucid::ast {

// Gives each name below `top` that cannot stand where it stands the name that stands in its stead
// everywhere (object/fitting_names.h). After this every name of the tree is a name of its text.
void fit_names(Tree& tree, NodeId top);

}  // namespace pellucid::ast
