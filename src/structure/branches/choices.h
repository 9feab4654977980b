// SPDX-License-Identifier: Apache-2.0
// Choices: what the rules of conditions.cpp ask of blocks, and the regions that they make of them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "object/code.h"
#include "structure/graph/graph.h"

namespace pellucid::structure {

class Choices {
 protected:
  Choices(Graph& graph, object::Module& module);

  // --- what a block is

  // Returns true if only `id` leads to `next`, under the same protection.
  bool owns(BlockId id, BlockId next) const;
  // Returns true if the items of a block compute `result` and nothing else. `pivot`: a value of
  // another block that the result may compare once more.
  bool computes(BlockId id, ValueId result, ValueId pivot = {}) const;
  // The test of a case, with a guard or without.
  bool is_pattern(ValueId id) const;
  // The right side of a comparison (or of the last one of a chain), if it is used once more.
  ValueId pivot_of(ValueId comparison) const;
  bool is_comparison(ValueId id) const;
  bool continues_chain(ValueId result, ValueId pivot) const;
  // Whether the arguments agree, but for `a` on one edge standing where `b` stands on the other.
  // Returns the number of such places, or nothing.
  std::optional<uint32_t> agree(const ir::Edge& x, const ir::Edge& y, ValueId a, ValueId b) const;
  uint32_t count_args(const ir::Block& block, ValueId value) const;

  // --- what becomes of it

  // The constant, as if it stood where the block ends.
  ValueId constant_at(BlockId id, object::ConstKind kind);
  // `not condition`, at the end of the block.
  ValueId negated(BlockId id, ValueId condition);
  // `not condition`, or what a `not` at the end of the block negates.
  ValueId without_not(BlockId id, ValueId test);
  // The test that holds where the one that ends the block does not: `a and not b` for `not a or b`.
  ValueId opposite(BlockId id, ValueId test);
  // Extends the And/Or/Chain at `first` by a part, or starts one.
  ValueId join(BlockId id, RegionKind kind, ValueId first, Part part, uint32_t uses);
  ValueId add_region(BlockId id, RegionKind kind, ValueId operand, Parts parts, uint32_t uses);
  // A region is all that uses the value, but for a comprehension that fills it, and a walrus that
  // keeps it: `items` are those among which the value is made.
  void used_once(ValueId id, const std::vector<ValueId>& items);
  void replace_args(BlockId id, ValueId from, ValueId to);

  Graph& g_;
  object::Module& module_;
  std::unordered_set<ValueId> pivots_;  // right sides of comparisons that are compared once more

 private:
  ValueId first_comparison(ValueId id) const;

  std::map<object::ConstKind, object::ConstId> constants_;
  std::unordered_map<ValueId, uint32_t> filled_;  // containers -> additions of elements
};

}  // namespace pellucid::structure
