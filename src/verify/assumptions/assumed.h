// SPDX-License-Identifier: Apache-2.0
// The facts about program-generated code (object/facts.h) as values, for one pair of roots.
//
// A steady name is one value on both sides, wherever it is loaded. A graph returns a tuple or list
// that no other code refers to: until it escapes, its items do not change, and taking one is not an
// effect.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "object/facts.h"
#include "verify/assumptions/lifetimes.h"

namespace pellucid::verify {

class Assumed {
 public:
  Assumed() = default;
  // `most` is the greatest constant index of a subscript in A.
  Assumed(Values& values, const object::Facts& facts, int64_t most);

  bool any() const { return any_; }
  // Return the value of a steady global, or of a steady attribute of one; nothing if it is not
  // steady.
  std::optional<Value> global(Values& values, Name name) const;
  std::optional<Value> attribute(Values& values, Value base, Name name) const;
  // Return true if the calls of a callee are ordered only among themselves; if they return a new
  // object; if they call a graph.
  bool is_apart(const Values& values, Value callee) const { return is_one(values, callee, apart_); }
  bool gives_object(const Values& values, Value callee) const {
    return is_one(values, callee, givers_);
  }
  bool is_graph(const Values& values, Value callee) const {
    return is_one(values, callee, graphs_);
  }

  void returned(Value outputs) { outputs_.insert(outputs.value); }
  // Records that `value` escapes, with its items.
  void shown(const State& state, Value value);
  bool is_outputs(Value value) const { return outputs_.count(value.value) > 0; }
  // Returns an item of a graph's outputs; nothing if it may not exist.
  std::optional<Value> item(Values& values, Value outputs, int64_t index);
  int64_t most() const { return most_; }

  Lifetimes& lifetimes() { return lifetimes_; }
  // Returns true if the callee makes functions.
  bool is_maker(const Values& values, Value callee) const {
    return is_one(values, callee, makers_);
  }
  // Records the cells that a new function refers to, by slot.
  void made(Value function, const std::vector<uint32_t>& cells) { of_[function.value] = cells; }
  const std::vector<uint32_t>* cells_of(Value function) const {
    const auto it = of_.find(function.value);
    return it == of_.end() ? nullptr : &it->second;
  }
  bool is_read(const Values& values, Value callee) const { return is_one(values, callee, reads_); }

 private:
  using Names = std::unordered_set<uint32_t>;
  static bool is_one(const Values& values, Value callee, const Names& names);

  bool any_ = false;
  int64_t most_ = -1;
  Names steady_, apart_, reads_, graphs_, givers_, makers_;
  std::unordered_map<uint32_t, std::vector<uint32_t>> of_;
  std::unordered_set<uint32_t> outputs_;
  std::map<std::pair<uint32_t, int64_t>, Value> items_;
  Lifetimes lifetimes_;
  Marks found_;              // only during a query
  std::vector<Value> todo_;  // empty between queries
};

}  // namespace pellucid::verify
