// SPDX-License-Identifier: Apache-2.0
// The ends of loops: which test is the loop's, and where `break` leads.
#pragma once

#include <functional>
#include <optional>

#include "structure/plan/context.h"

namespace pellucid::structure {

// Returns true if the items of a block and the value that its branch tests are one expression,
// which is a matter of values and not of control flow.
using IsOneExpression = std::function<bool(BlockId)>;

// Returns the edge into the body of `while test:`, if the header only tests and one side leaves the
// loop. Nothing: the loop is a `while True:`.
std::optional<uint8_t> stay_edge(const PlanContext& c, const Loop& loop,
                                 const IsOneExpression& is_one_expression);

// Returns where `break` of a `while` leads; invalid: nowhere. `exhausted`: the target of the
// failing test; invalid without a test.
BlockId follow_of_while(const PlanContext& c, const Loop& loop, BlockId exhausted,
                        const Scope& scope);

// Returns where `break` of a `for` leads, else where exhaustion leads.
BlockId follow_of_for(const PlanContext& c, BlockId header, const Scope& scope);

// Returns true if a back edge passes another value to the header in place of `parameter`.
bool changes_in_loop(const PlanContext& c, BlockId header, ValueId parameter);

// Returns true if a path back to the header goes through a block that the region does not protect.
// The end of a clause follows a `return` that ends it, and may be in the loop; but no path gets
// there from the `return`, nor from the `finally` bodies around the loop that run before it.
bool continues_outside(const PlanContext& c, const Loop& loop, HandlerId region);

}  // namespace pellucid::structure
