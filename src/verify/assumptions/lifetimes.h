// SPDX-License-Identifier: Apache-2.0
// A check of generated code: does B keep an object alive that A has released?
//
// It runs at every effect, and a function of thousands of locals has as many effects. So the
// references of each side's frame are counted, and a check counts only the changes since the last
// one, without the parts of the locals that both states share. B alone refers to few values; one
// that an object of A keeps alive is not checked again until A releases that object.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "verify/domain/state.h"

namespace pellucid::verify {

// A set of values that is cleared in constant time, since it is cleared at every effect.
class Marks {
 public:
  void clear() { ++now_; }
  bool has(uint32_t value) const { return value < when_.size() && when_[value] == now_; }
  // Returns false if it was a member.
  bool insert(uint32_t value) {
    if (value >= when_.size()) when_.resize(2 * static_cast<size_t>(value) + 1);
    return std::exchange(when_[value], now_) != now_;
  }

 private:
  std::vector<uint64_t> when_;
  uint64_t now_ = 1;
};

// Visits `values` and, transitively, the items of the containers among them, and adds them to
// `found`; skips the members of `found` and their items. Empties `values`.
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

// Counts the direct references of one side's frame.
class Holdings {
 public:
  bool has(uint32_t value) const { return value < counts_.size() && counts_[value] > 0; }
  // Updates the counts to those of `half`; calls `changed(value)` at least once for each value that
  // the frame begins or ceases to refer to.
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
  // `owned`: the attributes that an object keeps alive (object::Facts).
  Lifetimes(Values& values, const std::vector<std::string>& owned);

  void loaded(Value attribute, Value object, Name name);
  void taken(Value item, Value container);
  // Records that `owner` keeps `item` alive.
  void keeps(Value owner, Value item) { owners_[item.value] = owner; }

  // Returns a value that B would keep alive although A does not; invalid if there is none. An
  // object counts as held while `callee`, one of its attributes, is called.
  Value outlives(const Values& values, const State& state, Value callee);

 private:
  void look_at(const Values& values, Value value);
  void update(const Values& values, const State& state);
  void find_indirect(const State& state, Value callee);
  bool is_found(uint32_t value) const { return of_a_.has(value) || found_.has(value); }
  bool is_kept(uint32_t value) const;
  bool set_aside(uint32_t value);

  std::unordered_set<uint32_t> owned_, owned_items_;  // names of attributes
  std::unordered_map<uint32_t, Value> objects_;       // attribute -> the object it was loaded from
  std::unordered_map<uint32_t, Value> owners_;        // value -> the object that keeps it alive
  std::unordered_set<uint32_t> keepers_;              // of their items

  Holdings of_a_, of_b_;
  std::unordered_set<uint32_t> only_b_;  // objects of B's frame to check
  // Value of A's frame -> the values only B refers to that it keeps alive.
  std::unordered_map<uint32_t, std::vector<uint32_t>> kept_;
  Marks found_, seen_;       // only during a query
  std::vector<Value> todo_;  // empty between queries
};

}  // namespace pellucid::verify
