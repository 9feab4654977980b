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
// jump statements (ir::Function::marks_ends) nothing is read from that.
bool overtakes_value(const Graph& graph, const object::Module& module, HandlerId handler,
                     std::span<const BlockId> region);

// Returns a new marker, which belongs to no block yet.
ValueId marker(Graph& graph, flow::Marker what = flow::Marker::Left);

// Returns true if the block has a marker that says `what`.
bool has_marker(const Graph& graph, BlockId block, flow::Marker what);

// Returns the first marker of the block that stands for a jump statement without effect
// (Marker::LostBreak and the two after it), or an invalid id.
ValueId lost_jump(const Graph& graph, BlockId block);

// Whether the block only goes on (or returns): all its items only leave regions and handlers.
bool only_markers(const Graph& graph, const ir::Block& block);

// Whether two blocks are the arms of one test, on its line: `x if c else y` or a part of it, even
// if both arms say the same. Of a statement only one arm is on the line of its test.
bool are_arms_of_choice(const Graph& graph, BlockId x, BlockId y);

}  // namespace pellucid::structure
