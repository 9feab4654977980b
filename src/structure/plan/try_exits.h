// SPDX-License-Identifier: Apache-2.0
// The ends of `try` and `with`: the places that they lead to, what follows them, and what their
// `else` is.
#pragma once

#include "structure/plan/context.h"

namespace pellucid::structure {

// The block after a `try` with clauses, and the block after its body only.
struct TryEnds {
  BlockId follow;
  BlockId orelse;  // invalid: there is no `else`
};

// A place that the clauses of a handler lead to.
struct ClauseEnd {
  BlockId to;
  bool is_left = false;  // by a jump statement
  bool is_far = false;   // reached by a jump, not laid out right after the clause
  bool is_end = false;   // of a clause with a name, which no jump statement has left
};

// Returns true if a `with` in the region falls through to the place, rather than reaching it by a
// jump statement only.
bool is_after_with(const PlanContext& c, BlockId place, HandlerId region, const Scope& scope);

// Returns the places that the clauses lead to, each once: blocks that the handler's entry does not
// dominate.
std::vector<ClauseEnd> exits_of_clauses(const PlanContext& c, HandlerId handler,
                                        const Scope& scope);

// Returns true if a `finally` body overtakes the code before the block, and is around more than
// this `try`: then that code was a return (3.9+).
bool is_overtaken_outside(const PlanContext& c, BlockId block, const Scope& scope);

// Returns where a `try` continues after its `finally` body, if the end of that body shows it.
BlockId end_of_finally(const PlanContext& c, HandlerId handler, const Scope& scope);

// Returns the follow of a `try` with a `finally` body; invalid: there is none.
BlockId follow_of_finally(const PlanContext& c, HandlerId handler, const Scope& scope);

// Returns the ends of a `try` with `except` clauses.
TryEnds ends_of_try(const PlanContext& c, HandlerId handler, const Scope& scope);

// Returns the ends of a `try` with `except*` clauses: they reach their end by themselves or raise,
// no jump can leave them.
TryEnds ends_of_star(const PlanContext& c, HandlerId handler, const Scope& scope);

}  // namespace pellucid::structure
