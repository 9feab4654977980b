// SPDX-License-Identifier: Apache-2.0
// The input of a plan, and the place in the nesting of statements for which a decision is made.
#pragma once

#include <vector>

#include "base/rare.h"
#include "structure/graph/loops.h"
#include "structure/graph/protected_regions.h"

namespace pellucid::structure {

struct OpenLoop {
  BlockId header;  // `continue` leads here; invalid without a back edge (escapes.h)
  BlockId follow;  // `break` leads here; may be invalid
  const OpenLoop* outer = nullptr;
};

struct Scope {
  BlockId follow;  // falling off the end leads here; may be invalid
  const OpenLoop* loop = nullptr;
  HandlerId handler;     // the innermost region that has been entered
  uint32_t handled = 0;  // how many exceptions are being handled at its statements
};

// Constant while a plan is made.
struct PlanContext {
  PlanContext(const Graph& graph, const object::Module& module, const Analysis& analysis);

  const Graph& graph;
  const object::Module& module;
  const Analysis& analysis;
  const Protection protection;
  RareMap<ValueId, std::vector<BlockId>> breaks;  // iterator -> where breaks lead
  // Targets of jump statements that have left a region -> the blocks with these jumps.
  RareMap<BlockId, std::vector<BlockId>> left_for;
};

// Returns the loop that starts at the block, or nullptr.
const Loop* loop_at(const PlanContext& c, BlockId block);

// Returns true if a loop around the scope starts there.
bool is_open(BlockId header, const Scope& scope);

// Returns true if `break` or `continue` leads to the block.
bool is_jump_target(BlockId block, const Scope& scope);

// Returns the first block from this one on that has an effect, or that a statement of the scope
// leads to.
BlockId skip_markers(const PlanContext& c, BlockId block, const Scope& scope);

// Returns where control arrives that leaves a region: loops that it leaves on the way drop their
// iterators. Invalid if it returns from within such a loop: that `return` is a statement of the
// region.
BlockId landing(const PlanContext& c, BlockId block, const Scope& scope);

// Returns the blocks outside a region that its blocks lead to, past markers; each once.
std::vector<BlockId> exits_of(const PlanContext& c, HandlerId handler, const Scope& scope);

// Returns the best place for control to continue at: one that no jump statement can name, else the
// follow of the scope, else any of them.
BlockId pick_follow(const PlanContext& c, const std::vector<BlockId>& targets, const Scope& scope);

}  // namespace pellucid::structure
