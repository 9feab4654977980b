// SPDX-License-Identifier: Apache-2.0
// Where a `try` or `with` ends: what control leaves it for, what follows it, and what its `else`
// is.
#pragma once

#include "structure/plan/context.h"

namespace pellucid::structure {

// What follows a `try` with clauses, and what follows its body only.
struct TryEnds {
  BlockId follow;
  BlockId orelse;  // invalid: there is no `else`
};

// Where control leaves the clauses of a handler.
struct ClauseEnd {
  BlockId to;
  bool is_left = false;  // by a jump statement
  bool is_far = false;   // reached by a jump, not laid out right after the clause
  bool is_end = false;   // of a clause with a name, which no jump statement has left
};

// Returns true if a `with` in the region falls through to the place, and not by a jump statement
// only.
bool is_after_with(const PlanContext& c, BlockId place, HandlerId region, const Scope& scope);

// The places that the clauses lead to, each once: blocks that the handler's entry does not
// dominate.
std::vector<ClauseEnd> exits_of_clauses(const PlanContext& c, HandlerId handler,
                                        const Scope& scope);

// Returns true if a finally body has overtaken what leads to the block, and stands around more than
// this `try`: then that was a return (3.9+).
bool is_overtaken_outside(const PlanContext& c, BlockId block, const Scope& scope);

// The place where a `try` goes on after its finally body, if that says so by itself.
BlockId end_of_finally(const PlanContext& c, HandlerId handler, const Scope& scope);

// What follows a `try` with a finally body; invalid: nothing.
BlockId follow_of_finally(const PlanContext& c, HandlerId handler, const Scope& scope);

// Of `except` clauses.
TryEnds ends_of_try(const PlanContext& c, HandlerId handler, const Scope& scope);

// Of `except*` clauses: they come to their end by themselves or raise, no jump can leave them.
TryEnds ends_of_star(const PlanContext& c, HandlerId handler, const Scope& scope);

}  // namespace pellucid::structure
