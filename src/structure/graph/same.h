// SPDX-License-Identifier: Apache-2.0
// Same: whether two pieces of straight code do the same, item by item.
//
// CPython's compiler writes some code several times: what leaves a function is copied to the jumps
// to it, the test of a `while` to the end of the body, what follows alternatives to each of them. A
// step that undoes this asks whether two pieces are copies. They are if their items do the same
// operations in the same order, on values that are copies of each other or were there before both;
// for most steps on the same lines, too, since what was written twice has two places. In what else
// they may differ is up to the step.
//
// Whether code with branches and loops is the same is for SameCode (same_code.h), which compares
// items by same_operation() as well.
#pragma once

#include <span>
#include <unordered_map>

#include "structure/graph/graph.h"

namespace pellucid::structure {

// In what two operations may differ and be the same.
struct MayDiffer {
  bool lines = false;    // in where they were written
  bool drops = false;    // at the end of a statement: in what its Pop drops
  bool unbound = false;  // in whether a local may be unbound, which depends on the way to it
  bool regions = false;  // in which region they are: who asks compares these
  const object::Module* constants = nullptr;  // in the id of a constant of the module, if equal
};

// Returns true if both values are made by the same operation, whatever its operands are.
bool same_operation(const Graph& graph, ValueId x, ValueId y, const MayDiffer& may = {});

// What a value was a part of before it was taken apart, or the value itself.
inline ValueId whole_of(const Graph& graph, ValueId id) {
  const bool is_part = graph[id].kind == ValueKind::Element && graph[id].count > 0;
  return is_part ? graph.resolve(graph.f.operands(id)[0]) : id;
}

// Which value of one piece of code stands for which of the other. What neither has computed stands
// for itself.
class Twins {
 public:
  explicit Twins(const Graph& graph) : g_(graph) {}

  void pair(ValueId x, ValueId y) { twins_.emplace(x, y); }

  // Returns true if the first piece has computed the value, or what it is a part of.
  bool knows(ValueId x) const { return twins_.contains(whole_of(g_, g_.resolve(x))); }

  // Returns true if `y` is in the second piece what `x` is in the first.
  bool same(ValueId x, ValueId y) const;
  bool same(std::span<const ValueId> xs, std::span<const ValueId> ys) const;

  // Returns true if both items do the same; they are twins from then on.
  bool same_item(ValueId x, ValueId y, const MayDiffer& may = {});
  bool same_items(std::span<const ValueId> xs, std::span<const ValueId> ys,
                  const MayDiffer& may = {});

 private:
  const Graph& g_;
  std::unordered_map<ValueId, ValueId> twins_;
};

}  // namespace pellucid::structure
