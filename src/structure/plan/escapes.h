// SPDX-License-Identifier: Apache-2.0
// Escapes: places after a `try` or `with` that no jump statement can name.
//
// A region may be left for several places with different code: by jump threading, or by a `break`
// out of a loop without a back edge. `while True:` around a statement and the code after it, with a
// `break` at its end, compiles to no instruction; inside it, `break` leads after it.
#pragma once

#include <optional>

#include "structure/plan/context.h"
#include "structure/plan/try_exits.h"

namespace pellucid::structure {

// Returns the place that needs a label so that the region can be written; invalid if none does.
// `ends`: those of the region, if it is a `try` with `except` clauses.
BlockId label_of(const PlanContext& c, HandlerId handler, const TryEnds& ends, const Scope& scope);

// Returns the edge into the body of a `while` without a back edge: a `break` in it has left a
// region, for the target of the other edge. Nothing: the branch is an `if`.
std::optional<uint8_t> never_comes_round(const PlanContext& c, BlockId block, const Scope& scope);

}  // namespace pellucid::structure
