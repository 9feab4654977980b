// SPDX-License-Identifier: Apache-2.0
// The steps that reduce a Graph, in their order, and what can be seen of them.
//
// Before the first step the graph has the blocks of an ir::Function; after the last one it reads as
// nested statements, and the emitter writes it. Each step keeps what the code does and every id.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ast/tree.h"
#include "structure/graph/graph.h"
#include "structure/graph/loops.h"

namespace pellucid::structure {

// What the steps work on.
struct Reduction {
  Graph graph;
  ast::Tree& tree;
  bool joins_copies = true;         // false: endings stay apart as they lie there
  std::vector<BlockId> joins = {};  // blocks that were made of endings that differ in a value
  KnownAnalysis analysis = {};
};

// What a graph may have. Steps that need none of what it has are not run: two thirds of all code
// objects are one block, in which most steps have nothing to do.
enum Trait : uint32_t {
  kHasWays = 1,            // more than one block
  kHasEndings = 2,         // more than one block that returns or raises
  kHasHandlers = 4,        // protected regions
  kHasComprehensions = 8,  // inlined ones, which hide locals (3.12+)
  kHasCopies = 16,         // values that are copied to be dropped, as patterns do
  kHasCarried = 32,        // values of the block before that are dropped
  kHasLeaving = 64,        // ends of regions and clauses, dropped iterators
  kHasTests = 128,         // branches
  kHasSets = 256,          // set displays
};

// Returns what the graph has before the first step, and what steps may add to it: all that some
// step needs.
uint32_t traits_of(const Graph& graph);

struct Step {
  const char* name;
  const char* because;  // what it does, and why it stands where it does
  uint32_t needs;       // one of these traits
  void (*run)(Reduction& reduction);
};

std::span<const Step> steps();

// Names the plan where a step could be named.
inline constexpr const char* kPlanStage = "plan";

// What one recovery tells of itself, a line a step that changes the graph.
struct Trace {
  std::string wanted;  // the step after which the graph is to be shown, or kPlanStage; empty: none
  std::string text;
  object::CodeId only = {};  // the code object that is told of; invalid: all
};

// The blocks that are reachable, with what the steps have made of their values.
std::string dump(const object::Module& module, const Graph& graph);

// Checks what holds after every step: edges lead to blocks, ids are in range, handlers nest, and
// regions hold what they name. That edges carry an argument for each parameter is no check but a
// condition of structure (recover.cpp): a hand-made graph may be otherwise.
void check(const Graph& graph);

}  // namespace pellucid::structure
