// SPDX-License-Identifier: Apache-2.0
// Same: compares two pieces of straight-line code, item by item.
//
// CPython's compiler writes some code several times: code that leaves a function is copied to the
// jumps to it (tail duplication), the test of a `while` to the end of the body (loop inversion),
// the code after alternatives to each of them. A step that undoes this asks whether two pieces are
// copies. They are if their items do the same operations in the same order, on values that are
// copies of each other or were computed before both; for most steps on the same lines, too, since
// code written twice in the source has two places. Each step allows further differences
// (MayDiffer).
//
// SameCode (same_code.h) compares code with branches and loops; it compares items by
// same_operation() as well.
#pragma once

#include <span>
#include <unordered_map>

#include "structure/graph/graph.h"

namespace pellucid::structure {

// The differences between two operations that are ignored.
struct MayDiffer {
  bool lines = false;    // of their lines and columns
  bool drops = false;    // of what the Pop that ends a statement drops
  bool unbound = false;  // of whether a local may be unbound, which depends on the way to it
  bool regions = false;  // of their regions, which the caller compares
  const object::Module* constants = nullptr;  // of constant ids, if the constants are equal
};

// Returns true if both values are made by the same operation, whatever its operands are.
bool same_operation(const Graph& graph, ValueId x, ValueId y, const MayDiffer& may = {});

// Returns the value that `id` was unpacked from, or `id` itself.
inline ValueId whole_of(const Graph& graph, ValueId id) {
  const bool is_part = graph[id].kind == ValueKind::Element && graph[id].count > 0;
  return is_part ? graph.resolve(graph.f.operands(id)[0]) : id;
}

// Maps the values of one piece of code to those of the other. A value that neither has computed
// corresponds to itself.
class Twins {
 public:
  explicit Twins(const Graph& graph) : g_(graph) {}

  void pair(ValueId x, ValueId y) { twins_.emplace(x, y); }

  // Returns true if the first piece has computed the value, or the value that it is an element of.
  bool knows(ValueId x) const { return twins_.contains(whole_of(g_, g_.resolve(x))); }

  // Returns true if `y` corresponds to `x`.
  bool same(ValueId x, ValueId y) const;
  bool same(std::span<const ValueId> xs, std::span<const ValueId> ys) const;

  // Returns true if both items do the same; if so, makes them correspond.
  bool same_item(ValueId x, ValueId y, const MayDiffer& may = {});
  bool same_items(std::span<const ValueId> xs, std::span<const ValueId> ys,
                  const MayDiffer& may = {});

 private:
  const Graph& g_;
  std::unordered_map<ValueId, ValueId> twins_;
};

}  // namespace pellucid::structure
