// Alternatives: what tells `case 1 | 2` from two cases.
#pragma once

#include "structure/graph.h"

namespace pellucid::structure {

// Keeps the blocks where alternatives meet that have nothing else to do, until fold_matches() has
// read them: they alone tell `case 1 | 2` from two cases.
void keep_alternatives(Graph& graph);

}  // namespace pellucid::structure
