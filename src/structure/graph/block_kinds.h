// SPDX-License-Identifier: Apache-2.0
// Kinds of blocks, recognised by what their items do: blocks that only leave, return or mark.
#pragma once

#include "structure/graph/graph.h"

namespace pellucid::structure {

// ---- markers: items that execute nothing (flow::Marker)

// Returns a new marker, which belongs to no block yet.
ValueId marker(Graph& graph, flow::Marker what = flow::Marker::Left);

// Returns true if all items of the block only leave regions and handlers.
bool only_markers(const Graph& graph, const ir::Block& block);

// Returns true if markers may say that a jump statement left a region, or was lost: only where a
// block stack keeps what leads nowhere.
inline bool marks_jumps(const Graph& graph) {
  return graph.f.marks_ends || graph.f.marks_empty_bodies;
}

// Returns true if the block has a marker of this kind.
bool has_marker(const Graph& graph, BlockId block, flow::Marker what);

// Returns the first marker of the block for a jump statement without effect
// (Marker::LostBreak and the two after it), or an invalid id.
ValueId lost_jump(const Graph& graph, BlockId block);

// ---- exits

// Returns true if the items of the block, from item `from` on, raise nothing: they load constants,
// drop constants and the iterators of loops, or are markers.
bool cannot_raise(const Graph& graph, BlockId block, size_t from = 0);

// Returns true if the block cannot raise from item `from` on, and returns.
bool only_returns(const Graph& graph, BlockId block, size_t from = 0);

// Returns true if, from its `from`-th item on, the block only loads a constant and returns it.
bool returns_constant(const Graph& graph, BlockId block, size_t from = 0);

// Returns true if the source may contain a `return`: a module or a class only has an implicit one.
bool may_return(const Graph& graph, const object::Module& module);

// ---- arms

// Returns true if two blocks are the arms of one test, on its line: `x if c else y` or a part of
// it, even if both arms are equal. Of an `if` statement at most one arm is on the line of the test.
bool are_arms_of_choice(const Graph& graph, BlockId x, BlockId y);

}  // namespace pellucid::structure
