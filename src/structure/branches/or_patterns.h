// SPDX-License-Identifier: Apache-2.0
// Alternatives: what tells `case 1 | 2` from two cases.
#pragma once

#include <vector>

#include "structure/branches/pattern_reader.h"
#include "structure/graph/graph.h"

namespace pellucid::structure {

// Keeps the blocks where alternatives meet that have nothing else to do, until fold_matches() has
// read them: they alone tell `case 1 | 2` from two cases.
void keep_alternatives(Graph& graph);

// One case of a `match` as it has been read: where its tests start and where its body does, where
// the tests fail to, and how often the subject lies there more than the pattern itself needs.
struct ReadCase {
  Cursor start, end;
  BlockId fail;
  PatternId pattern;
  size_t spare = 0;
};

// Where compilers have copied what alternatives meet in to each of them, they have been read as
// cases. Each keeps the subject for the next, though, as cases do, and once more for the case
// after them all, if there is one. Whether any have become one case.
bool join_alternatives(Graph& graph, std::vector<ReadCase>& cases);

}  // namespace pellucid::structure
