// SPDX-License-Identifier: Apache-2.0
// Inlined comprehensions (3.12+): a loop in the middle of an expression -> one Region value.
#pragma once

#include <vector>

#include "structure/graph/graph.h"

namespace pellucid::structure {

// Reads the loop at `header` as nested `for`s and `if`s, with an element at the end or without;
// empty if it is not that.
std::vector<ComprehensionStep> comprehension_steps(const Graph& graph, BlockId header);

// If `block` leads into a loop that only fills a container made in `block`, makes that loop a
// Region value of `block`, which goes on after it.
bool fold_inlined_comprehension(Graph& graph, const object::Module& module, BlockId block);

// What a comprehension made may be dropped before the locals are put back that it has hidden, or
// after: in either case the statement ends after all of it.
void drop_at_last(Graph& graph);

}  // namespace pellucid::structure
