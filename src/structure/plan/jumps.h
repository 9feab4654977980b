// SPDX-License-Identifier: Apache-2.0
// What a block says of how control leaves it: by its exit, its markers and the values it returns,
// and not by where it lies (evidence.h).
#pragma once

#include <optional>

#include "structure/plan/context.h"
#include "structure/plan/plan.h"

namespace pellucid::structure {

// Returns true if a jump statement has left a region in the block (ir::Function::marks_ends).
bool left_by_jump(const Graph& graph, BlockId block);

// Returns true if it has before all that the block does.
bool starts_after_jump(const Graph& graph, BlockId block);

// Returns true if a clause with a name comes to its end in the block.
bool ends_clause(const Graph& graph, BlockId block);

// Returns true if the block stands for the end of a finally body that has none.
bool never_ends(const Graph& graph, BlockId block);

// Returns true if the block only returns, after what a `return` drops of the loops that it leaves.
bool drops_and_returns(const Graph& graph, BlockId block);

// Returns true if both blocks return the same constant and do nothing else.
bool same_return(const Graph& graph, BlockId a, BlockId b);

// Returns true if a `return` starts in the block that leaves several loops: it drops the iterator
// of each.
bool returns_from_outer(const Graph& graph, BlockId block);

// Returns true if the rest of a `return` starts in the block, whose value was computed before it.
bool returns_from_before(const Graph& graph, BlockId block);

// Returns true if the block returns None and only follows what never goes on: no statement says so.
bool is_dead_end(const PlanContext& c, BlockId block);

// Returns true if the block is what an `assert` does that has failed: a part of that statement,
// wherever it is laid out.
bool is_failed_assert(const Graph& graph, BlockId block);

// The same for what only `assert` raises.
bool fails_assertion(const Graph& graph, BlockId block);

// Returns true if the block tests a case of a `match`.
bool tests_case(const Graph& graph, BlockId block);

// Returns true if the branch at the end of the block is whether a case matches, and its guard
// holds.
bool decides_case(const Graph& graph, BlockId block);

// Returns true if the block tests a case that goes on with the subject of those before it.
bool is_next_case(const Graph& graph, BlockId block);

// The jump statement that only runs a finally body, which goes another way, where that ends.
std::optional<LostPlan> lost_statement(const PlanContext& c, BlockId block, const Scope& scope);

}  // namespace pellucid::structure
