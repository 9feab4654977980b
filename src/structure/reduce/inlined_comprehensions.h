// SPDX-License-Identifier: Apache-2.0
// Inlined comprehensions (3.12+): a loop in the middle of an expression -> one Region value.
#pragma once

#include <vector>

#include "structure/graph/graph.h"

namespace pellucid::structure {

// Returns the loop at `header` as nested `for`s and `if`s, with or without an element at the end;
// empty if it is something else.
std::vector<ComprehensionStep> comprehension_steps(const Graph& graph, BlockId header);

// If `block` leads to a loop that only fills a container made in `block`, replaces that loop by a
// Region value of `block`, and merges the code after the loop into `block`. Returns true if it did.
bool fold_inlined_comprehension(Graph& graph, const object::Module& module, BlockId block);

// Moves the Pop of a comprehension's value after the items that restore the hidden locals, on
// whichever side of them it is: the statement ends after both.
void drop_at_last(Graph& graph);

}  // namespace pellucid::structure
