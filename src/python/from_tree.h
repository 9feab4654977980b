// SPDX-License-Identifier: Apache-2.0
// python: syntax trees of Python's own `ast` -> ast::Tree. Converts, no logic.
#pragma once

#include <nanobind/nanobind.h>

#include "ast/tree.h"

namespace pellucid::python {

// Converts an `ast.Module` of the running interpreter, of whatever version, with the lines of its
// nodes. Raises ValueError for a node or a constant that no parser makes, and RecursionError for
// nodes that nest too deep.
ast::NodeId from_tree(nanobind::handle module, ast::Tree& tree);

}  // namespace pellucid::python
