// SPDX-License-Identifier: Apache-2.0
// verify's question about generated code: does B keep an object alive that A has let go?
//
// It is asked at every effect, and a function of thousands of locals has as many effects. So what
// each side's frame refers to is counted, and a question counts only what has changed since the one
// before it: parts of the locals that both states share are not looked at. What B alone refers to
// is few; of these, what something of A's keeps is not asked about again until A lets that go.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "verify/domain/state.h"

namespace pellucid::verify {

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

// Visits `values` and all that the containers among them hold; those that `found` has already, and
// what is in them, are passed by. No values are left.
template <typename F>
void closure(const State& state, std::vector<Value>& values, Marks& found, F visit) {
  while (!values.empty()) {
    const Value value = values.back();
    values.pop_back();
    if (!found.insert(value.value)) continue;
    visit(value);
    const Container* container = state.container(value);
    if (container == nullptr) continue;
    values.insert(values.end(), container->items.begin(), container->items.end());
  }
}

// What the frame of one side refers to itself, and how often.
class Holdings {
 public:
  bool has(uint32_t value) const { return value < counts_.size() && counts_[value] > 0; }
  // Goes over to what `half` refers to; `changed(value)` is called for each value that the frame
  // begins or ceases to refer to, perhaps several times.
  template <typename F>
  void update(const Values& values, const Half& half, F changed);

 private:
  std::vector<Value> stack_, exceptions_;
  Locals locals_;
  std::vector<uint32_t> counts_;
};

class Lifetimes {
 public:
  Lifetimes() = default;
  // `owned`: the attributes that an object keeps, as object::Facts has them.
  Lifetimes(Values& values, const std::vector<std::string>& owned);

  void loaded(Value attribute, Value object, Name name);
  void taken(Value item, Value container);
  // Whoever has the owner has the item.
  void keeps(Value owner, Value item) { owners_[item.value] = owner; }

  // Something that B would keep alive although A does not; invalid: there is nothing.
  // An object counts as held while one of its attributes, `callee`, is called.
  Value outlives(const Values& values, const State& state, Value callee);

 private:
  void look_at(const Values& values, Value value);
  void update(const Values& values, const State& state);
  void find_indirect(const State& state, Value callee);
  bool is_found(uint32_t value) const { return of_a_.has(value) || found_.has(value); }
  bool is_kept(uint32_t value) const;
  bool set_aside(uint32_t value);

  std::unordered_set<uint32_t> owned_, owned_items_;  // names of attributes
  std::unordered_map<uint32_t, Value> objects_;       // attribute -> what it was loaded from
  std::unordered_map<uint32_t, Value> owners_;        // what an object keeps -> the object
  std::unordered_set<uint32_t> keepers_;              // of their items

  Holdings of_a_, of_b_;
  std::unordered_set<uint32_t> only_b_;  // objects of B's frame to ask about
  // What A's frame refers to -> what it keeps of B's alone.
  std::unordered_map<uint32_t, std::vector<uint32_t>> kept_;
  Marks found_, seen_;       // only while a question is answered
  std::vector<Value> todo_;  // empty in between
};

}  // namespace pellucid::verify
