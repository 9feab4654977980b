// SPDX-License-Identifier: Apache-2.0
// Escapes: places after a `try` or `with` that no statement could name.
//
// A region may be left for several places that are code of their own: threaded jumps, or a `break`
// out of a loop that never comes round. `while True:` around a statement and what follows it, with
// a `break` at its end, compiles to no instruction; inside it, `break` leads after it.
#pragma once

#include <optional>

#include "structure/plan/context.h"
#include "structure/plan/try_exits.h"

namespace pellucid::structure {

// The place that has to be named so that the region can be written; invalid if none has. `ends`:
// those of the region, if it is a `try` with `except` clauses.
BlockId label_of(const PlanContext& c, HandlerId handler, const TryEnds& ends, const Scope& scope);

// The edge into the body of a `while` that never comes round: a `break` in it has left a region,
// where the other edge leads as well. Nothing: the branch is an `if`.
std::optional<uint8_t> never_comes_round(const PlanContext& c, BlockId block, const Scope& scope);

}  // namespace pellucid::structure
