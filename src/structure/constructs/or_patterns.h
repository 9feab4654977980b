// SPDX-License-Identifier: Apache-2.0
// Alternatives: distinguishes `case 1 | 2` from two cases.
#pragma once

#include <vector>

#include "structure/constructs/pattern_reader.h"
#include "structure/graph/graph.h"

namespace pellucid::structure {

// Keeps the empty blocks where alternatives meet until fold_matches() has read them: only they
// distinguish `case 1 | 2` from two cases.
void keep_alternatives(Graph& graph);

// One case of a `match` that was read: the start of its tests and of its body, the target of
// failing tests, and how many copies of the subject are there beyond those that the pattern itself
// needs.
struct ReadCase {
  Cursor start, end;
  BlockId fail;
  PatternId pattern;
  size_t spare = 0;
};

// Joins alternatives that were read as cases, since the compiler copied their merge point to each
// of them. Each keeps the subject for the next, as cases do, and once more for the case after all
// of them, if there is one. Returns true if any were joined.
bool join_alternatives(Graph& graph, std::vector<ReadCase>& cases);

}  // namespace pellucid::structure
