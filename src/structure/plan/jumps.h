// SPDX-License-Identifier: Apache-2.0
// How control leaves a block: by its exit, its markers and the values that it returns, and not by
// its position (evidence.h).
#pragma once

#include <optional>

#include "structure/plan/context.h"
#include "structure/plan/plan.h"

namespace pellucid::structure {

// Returns true if a jump statement has left a region in the block (ir::Function::marks_ends).
bool left_by_jump(const Graph& graph, BlockId block);

// Returns true if it has done so before the block does anything else.
bool starts_after_jump(const Graph& graph, BlockId block);

// Returns true if a clause with a name ends in the block.
bool ends_clause(const Graph& graph, BlockId block);

// Returns true if the block represents the end of a `finally` body that never ends.
bool never_ends(const Graph& graph, BlockId block);

// Returns true if the block only returns, after dropping the iterators of the loops that the
// `return` leaves.
bool drops_and_returns(const Graph& graph, BlockId block);

// Returns true if both blocks return the same constant and do nothing else.
bool same_return(const Graph& graph, BlockId a, BlockId b);

// Returns true if a `return` that leaves several loops starts in the block: it drops the iterator
// of each.
bool returns_from_outer(const Graph& graph, BlockId block);

// Returns true if the rest of a `return` starts in the block: its value was computed earlier.
bool returns_from_before(const Graph& graph, BlockId block);

// Returns true if the block returns None and control never reaches it: it is no statement.
bool is_dead_end(const PlanContext& c, BlockId block);

// Returns true if the block is the failure of an `assert`: a part of that statement, wherever it is
// laid out.
bool is_failed_assert(const Graph& graph, BlockId block);

// Returns true if the block raises by the instruction that only `assert` has.
bool fails_assertion(const Graph& graph, BlockId block);

// Returns true if the block tests a case of a `match`.
bool tests_case(const Graph& graph, BlockId block);

// Returns true if the branch at the end of the block decides whether a case matches and its guard
// holds.
bool decides_case(const Graph& graph, BlockId block);

// Returns true if the block tests a case on the subject of the cases before it.
bool is_next_case(const Graph& graph, BlockId block);

// Returns the jump statement that a `finally` body overtakes, where that body ends.
std::optional<LostPlan> lost_statement(const PlanContext& c, BlockId block, const Scope& scope);

}  // namespace pellucid::structure
