// SPDX-License-Identifier: Apache-2.0
// Choices: the properties of blocks that the rules of conditions.cpp depend on, and the regions
// that they make; and the one rule that has a file of its own.
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
 public:
  Choices(Graph& graph, object::Module& module);

  Graph& graph() const { return g_; }

  // --- properties

  // Returns true if `id` is the only predecessor of `next`, with the same handler.
  bool owns(BlockId id, BlockId next) const {
    return next.valid() && next != id && next != g_.entry() && g_.ways_into(next).size() == 1 &&
           g_[next].handler == g_[id].handler;
  }
  // Returns true if the items of a block compute `result` and nothing else. `pivot`: a value of
  // another block that the result may compare once more.
  bool computes(BlockId id, ValueId result, ValueId pivot = {}) const;
  // Returns true if the value is the test of a case, with or without a guard.
  bool is_pattern(ValueId id) const;
  // Returns the right operand of a comparison (or of the last one of a chain), if it has another
  // use.
  ValueId pivot_of(ValueId comparison) const;
  bool is_comparison(ValueId id) const;
  // Returns true if block b, which block a alone leads to, tests for an `if` of its own. `shared`:
  // where a leads otherwise.
  //
  // The jump of a statement's test has a line after that of the statement before. Up to 3.9 all
  // jumps of a test have the line of the statement, wherever the operands are (compiler_jump_if
  // sets no line). In 3.10 a comparison sets its own line, which is in a test as it is in a
  // statement: a line between tells them apart, since operands mostly have none, unless two
  // statements would need two copies of what they lead to. Where there is no statement, in a
  // comprehension or in the value of an `and`, jumps have the lines of the operands.
  bool is_another_statement(BlockId a, BlockId b, BlockId shared) const;
  // Returns true if an item of the block may be the container that a comprehension fills.
  bool makes_container(BlockId id) const;
  bool continues_chain(ValueId result, ValueId pivot) const;
  // Returns true if another comparison uses the value as its right operand.
  bool is_pivot(ValueId id) const { return pivots_.contains(id); }
  // Compares the arguments of two edges; `a` on `x` may correspond to `b` on `y`. Returns the
  // number of such places, or nothing if other arguments differ.
  std::optional<uint32_t> agree(const ir::Edge& x, const ir::Edge& y, ValueId a, ValueId b) const;
  uint32_t count_args(const ir::Block& block, ValueId value) const;

  // --- new values

  // Returns a load of the constant, with the offset and line of the block's exit.
  ValueId constant_at(BlockId id, object::ConstKind kind);
  // Appends `not condition` to the block.
  ValueId negated(BlockId id, ValueId condition);
  // Appends `not test` to the block, or removes a `not` at its end and returns the operand.
  ValueId without_not(BlockId id, ValueId test);
  // Returns the negation of the test that ends the block: `a and not b` for `not a or b`.
  ValueId opposite(BlockId id, ValueId test);
  // Extends the And/Or/Chain at `first` by a part, or starts one. `again`: what is around it tests
  // the value of the first part once more.
  ValueId join(BlockId id, RegionKind kind, ValueId first, Part part, uint32_t uses,
               bool again = false);
  ValueId add_region(BlockId id, RegionKind kind, ValueId operand, Parts parts, uint32_t uses);
  // Sets the uses of a value that a region uses: one, and those by a comprehension that fills it
  // and by a walrus among `items`, where the value is made.
  void used_once(ValueId id, const std::vector<ValueId>& items);
  void replace_args(BlockId id, ValueId from, ValueId to);
  // Makes `to` a pivot if `from` is one.
  void replace_pivot(ValueId from, ValueId to) {
    if (pivots_.contains(from)) pivots_.insert(to);
  }

 private:
  ValueId first_comparison(ValueId id) const;

  Graph& g_;
  object::Module& module_;
  std::unordered_set<ValueId> pivots_;
  std::map<object::ConstKind, object::ConstId> constants_;
  std::unordered_map<ValueId, uint32_t> filled_;  // containers -> additions of elements
};

// Reduces a test with equal targets and the value computed there on its line: compilers optimised
// the other operand of `t or True` away. If that value is tested, the whole is a test (`and`); else
// the value is the arm that such a test always chooses. (constant_tests.cpp)
bool reduce_constant_test(Choices& choices, BlockId id);

}  // namespace pellucid::structure
