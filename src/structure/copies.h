// Copies: the body of a `finally` matched against its copies on the normal ways out.
#pragma once

#include <span>

#include "structure/graph.h"

namespace pellucid::structure {

// Takes the copies of the handler's body away from every way out of its region, whose blocks are
// given, and leaves a marker there. False, with the graph as it was, if some way out has no copy.
// recompute() is due afterwards.
bool strip_copies(Graph& graph, const object::Module& module, HandlerId handler,
                  std::span<const BlockId> region);

// Whether every way out of the region runs the handler's body, and one has computed a value that
// goes there: only a `return` does so, whose `finally` body goes another way. Where marks tell of
// jump statements (ir::Function::keeps_ends) nothing is read from that.
bool overtakes_value(const Graph& graph, const object::Module& module, HandlerId handler,
                     std::span<const BlockId> region);

// An item that does nothing: it marks where control left a region. Where ir::Function::keeps_ends,
// its `b` says more: the region was left by a jump statement; the clause of an exception with a
// name has come to its end.
inline constexpr uint32_t kLeftByJump = 1;
inline constexpr uint32_t kEndOfClause = 2;
ValueId marker(Graph& graph);

// Whether a PopExcept of the block has this as its `b`.
bool has_mark(const Graph& graph, BlockId block, uint32_t mark);

// The mark of a jump statement that has no effect, as flow::Graph::keeps_ends says; 0: no such
// mark.
uint32_t lost_jump(const Graph& graph, BlockId block);

// Whether the block only goes on (or returns): no items but markers. A body without code (see
// flow::Graph::keeps_empty) is a statement.
bool only_markers(const Graph& graph, const ir::Block& block);

// Whether two blocks are the arms of one test, on its line: `x if c else y` or a part of it, even
// if both arms say the same. Of a statement only one arm is on the line of its test.
bool are_arms_of_choice(const Graph& graph, BlockId x, BlockId y);

}  // namespace pellucid::structure
