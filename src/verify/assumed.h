// verify's view of the facts about program-generated code (object/facts.h), for one pair of roots.
//
// A steady name is one value on both sides, wherever it is loaded. What a graph returns is a tuple
// or a list that nobody else has seen: as long as that is so, its items are what they are, and
// taking one is no effect.
#pragma once

#include <map>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "object/facts.h"
#include "verify/values.h"

namespace pellucid::verify {

struct State;

// A set of values that is emptied at each effect of a function: no element is touched for that.
class Marks {
 public:
  void clear() { ++now_; }
  bool has(uint32_t value) const { return value < when_.size() && when_[value] == now_; }
  // Returns false if it was in.
  bool insert(uint32_t value) {
    if (value >= when_.size()) when_.resize(2 * static_cast<size_t>(value) + 1);
    return std::exchange(when_[value], now_) != now_;
  }

 private:
  std::vector<uint64_t> when_;
  uint64_t now_ = 1;
};

class Assumed {
 public:
  Assumed() = default;
  // `most` is the greatest index that the code of side A takes an item by.
  Assumed(Values& values, const object::Facts& facts, int64_t most);

  bool any() const { return any_; }
  // The value of a steady global, of a steady attribute of one; nothing: it is no such.
  std::optional<Value> global(Values& values, Name name) const;
  std::optional<Value> attribute(Values& values, Value base, Name name) const;
  // Whether a callee's calls stand apart from the program's own effects, are those of a graph.
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

  // Something that `b` would keep alive although A does not; invalid: there is nothing.
  // An object counts as held while one of its attributes, `callee`, is called.
  Value outlives(const Values& values, const State& state, Value callee);
  void loaded(Value attribute, Value object, Name name);
  void taken(Value item, Value container);
  bool is_read(const Values& values, Value callee) const { return is_one(values, callee, reads_); }

 private:
  using Names = std::unordered_set<uint32_t>;
  static bool is_one(const Values& values, Value callee, const Names& names);

  bool any_ = false;
  int64_t most_ = -1;
  Names steady_, apart_, reads_, graphs_, givers_, owned_, owned_items_;
  // Whether an object that is held keeps it.
  bool is_owned(uint32_t value, const Marks& held) const;

  std::unordered_map<uint32_t, Value> objects_;  // attribute -> what it was loaded from
  std::unordered_map<uint32_t, Value> owners_;   // what an object keeps -> the object
  std::unordered_set<uint32_t> keepers_;         // of their items
  std::unordered_set<uint32_t> outputs_;
  std::map<std::pair<uint32_t, int64_t>, Value> items_;
  Marks found_, seen_;        // only while a question is answered, as are these
  std::vector<Value> roots_;  // empty in between
};

}  // namespace pellucid::verify
