// SPDX-License-Identifier: Apache-2.0
// The second fast path: do two graphs execute the same instructions, however their blocks are laid
// out?
#pragma once

#include <utility>
#include <vector>

#include "flow/graph.h"
#include "verify/domain/state.h"

namespace pellucid::verify {

// Follows two graphs in step: from their entries, both execute the same instruction with the same
// operand, and go on to a pair of places for which the same holds. So both start with the same
// state and never part: whatever the locals and the stack hold, each step changes them alike, each
// effect has the same inputs, and what raises is caught by handlers that cut the same stack to the
// same depth and go on in step, too. That is a bisimulation without any assumption about values;
// the walk (walk/walk.h), which finds the same for values that are only known symbolically, would
// add nothing to it.
//
// Jumps execute nothing, so a place is a position after all jumps: copies of code, an inverted loop
// and blocks in another order make no difference. A cycle of jumps alone is left to the walk, and
// so is everything that is not the same at once.
class InStep {
 public:
  explicit InStep(Values& values) : values_(values) {}

  // Returns true if the graphs are in step; then appends the pairs of nested code objects to
  // `pairs`, in the order of A's bytecode. Takes time linear in the sizes of the graphs.
  bool run(const flow::Graph& a, const flow::Graph& b, CodePairs& pairs);

 private:
  struct Place {
    flow::BlockId block;
    uint32_t at = 0;  // instruction of the block; `count` is the exit
  };
  using Pair = std::pair<Place, Place>;

  static bool pass_jumps(const flow::Graph& graph, Place& place);
  bool is_known(Place in_a, Place in_b);
  bool follow(Place in_a, Place in_b);
  bool advance(Place in_a, Place in_b, uint32_t steps);
  bool same_handlers(const flow::Block& in_a, const flow::Block& in_b);
  bool leave(const flow::Block& in_a, const flow::Block& in_b);
  void meet(flow::BlockId in_a, flow::BlockId in_b);

  Values& values_;
  // Of one run; the memory is kept for the next.
  const flow::Graph* a_ = nullptr;
  const flow::Graph* b_ = nullptr;
  bool is_block_of_names_ = false;  // a module or class of 3.13+
  uint64_t steps_left_ = 0;
  std::vector<Pair> todo_;
  std::vector<uint32_t> partners_;                   // by position in A: the first one in B
  std::vector<std::pair<uint32_t, uint32_t>> more_;  // further pairs of positions
  std::vector<uint32_t> handlers_;  // by handler of A: the one of B that was met with it last
  std::vector<std::pair<uint32_t, std::pair<object::CodeId, object::CodeId>>> codes_;
};

}  // namespace pellucid::verify
