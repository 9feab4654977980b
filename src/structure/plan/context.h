// SPDX-License-Identifier: Apache-2.0
// What the plan is computed from, and the place in the nesting for which something is decided.
#pragma once

#include <unordered_map>
#include <vector>

#include "structure/graph/loops.h"
#include "structure/graph/protected_regions.h"

namespace pellucid::structure {

struct OpenLoop {
  BlockId header;  // `continue` leads here; invalid in one that never comes round (escapes.h)
  BlockId follow;  // `break` leads here; may be invalid
  const OpenLoop* outer = nullptr;
};

struct Scope {
  BlockId follow;  // falling off the end leads here; may be invalid
  const OpenLoop* loop = nullptr;
  HandlerId handler;     // the innermost region that has been entered
  uint32_t handled = 0;  // how many exceptions are being handled where the statements stand
};

// Nothing of it changes while a plan is made.
struct PlanContext {
  PlanContext(const Graph& graph, const object::Module& module, const Analysis& analysis);

  const Graph& graph;
  const object::Module& module;
  const Analysis& analysis;
  const Protection protection;
  std::unordered_map<ValueId, std::vector<BlockId>> breaks;  // iterator -> where breaks lead
  // Where jump statements that have left a region lead to -> the blocks where they have.
  std::unordered_map<BlockId, std::vector<BlockId>> left_for;
};

// The loop that starts at the block; nullptr: none does.
const Loop* loop_at(const PlanContext& c, BlockId block);

// Returns true if a loop around the scope starts there.
bool is_open(BlockId header, const Scope& scope);

// Returns true if `break` or `continue` leads to the block.
bool is_jump_target(BlockId block, const Scope& scope);

// The first block from this one on that does anything, or that a statement of the scope leads to.
BlockId skip_markers(const PlanContext& c, BlockId block, const Scope& scope);

// Where control that leaves a region comes to: loops that it leaves on its way drop their
// iterators. Invalid if it returns from within such a loop, which is a statement where it leaves.
BlockId landing(const PlanContext& c, BlockId block, const Scope& scope);

// The blocks outside a region that its blocks lead to, markers skipped; each once.
std::vector<BlockId> exits_of(const PlanContext& c, HandlerId handler, const Scope& scope);

// Of the places that control may go on at: one that no jump statement can name comes first, then
// the follow of the scope, then whatever is there.
BlockId pick_follow(const PlanContext& c, const std::vector<BlockId>& targets, const Scope& scope);

}  // namespace pellucid::structure
