// SPDX-License-Identifier: Apache-2.0
// verify's view of the facts about program-generated code (object/facts.h), for one pair of roots.
//
// A steady name is one value on both sides, wherever it is loaded. What a graph returns is a tuple
// or a list that nobody else has seen: as long as that is so, its items are what they are, and
// taking one is no effect.
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
  // `most` is the greatest index that the code of side A takes an item by.
  Assumed(Values& values, const object::Facts& facts, int64_t most);

  bool any() const { return any_; }
  // The value of a steady global, of a steady attribute of one; nothing: it is no such.
  std::optional<Value> global(Values& values, Name name) const;
  std::optional<Value> attribute(Values& values, Value base, Name name) const;
  // Returns true if a callee's calls stand apart from the program's own effects, are those of a
  // graph.
  bool is_apart(const Values& values, Value callee) const { return is_one(values, callee, apart_); }
  bool gives_object(const Values& values, Value callee) const {
    return is_one(values, callee, givers_);
  }
  bool is_graph(const Values& values, Value callee) const {
    return is_one(values, callee, graphs_);
  }

  void returned(Value outputs) { outputs_.insert(outputs.value); }
  // Others know it from here on, with what is in it.
  void shown(const State& state, Value value);
  bool is_outputs(Value value) const { return outputs_.count(value.value) > 0; }
  // The item of what a graph returned; nothing: there may be none.
  std::optional<Value> item(Values& values, Value outputs, int64_t index);
  int64_t most() const { return most_; }

  Lifetimes& lifetimes() { return lifetimes_; }
  // Of a function that makes functions.
  bool is_maker(const Values& values, Value callee) const {
    return is_one(values, callee, makers_);
  }
  // The cells that a function refers to which was made of these, by slot.
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
  Marks found_;              // only while a question is answered
  std::vector<Value> todo_;  // empty in between
};

}  // namespace pellucid::verify
