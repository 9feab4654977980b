// SPDX-License-Identifier: Apache-2.0
// Where a loop ends: which test is its own, and where `break` leads.
#pragma once

#include <functional>
#include <optional>

#include "structure/plan/context.h"

namespace pellucid::structure {

// Returns true if the items of a block and what its branch tests are one expression, which is a
// matter of values and not of control flow.
using IsOneExpression = std::function<bool(BlockId)>;

// The edge into the body of `while test:`, if the header does nothing but test, and one side leaves
// the loop. Nothing: the loop is a `while True:`.
std::optional<uint8_t> stay_edge(const PlanContext& c, const Loop& loop,
                                 const IsOneExpression& is_one_expression);

// Where `break` of a `while` leads; invalid: nowhere. `exhausted`: where its test leads that fails;
// invalid without a test.
BlockId follow_of_while(const PlanContext& c, const Loop& loop, BlockId exhausted,
                        const Scope& scope);

// Where `break` of a `for` leads, else where it does that goes on to its end.
BlockId follow_of_for(const PlanContext& c, BlockId header, const Scope& scope);

// Returns true if a round hands another value than `parameter` to the header in its place.
bool changes_in_loop(const PlanContext& c, BlockId header, ValueId parameter);

// Returns true if the loop comes back from a block that the region does not protect. After a
// `return` that ends a clause comes the end of that clause, which may lie in the loop; but nothing
// gets there from the `return`, nor from what finally bodies around the loop do before it.
bool goes_on_outside(const PlanContext& c, const Loop& loop, HandlerId region);

}  // namespace pellucid::structure
