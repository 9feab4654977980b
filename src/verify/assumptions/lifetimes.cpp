// SPDX-License-Identifier: Apache-2.0
#include "verify/assumptions/lifetimes.h"

#include <algorithm>

namespace pellucid::verify {

namespace {

bool is_object(const Values& values, Value value) {
  // An object that refers only to objects of the frame keeps nothing else alive.
  const bool is_of_frame = values[value].y == 1;
  return values.is(value, Kind::Maybe) || (values.is(value, Kind::Unknown) && !is_of_frame);
}

}  // namespace

template <typename F>
void Holdings::update(const Values& values, const Half& half, F changed) {
  // Most locals of a large function are unbound at any time. A method keeps its object alive.
  const auto held = [&](Value value) {
    return values.is(value, Kind::Method) ? Value(values[value].x) : value;
  };
  const auto add = [&](Value value) {
    if (values.is(value, Kind::Null)) return;
    value = held(value);
    if (value.value >= counts_.size()) counts_.resize(2 * static_cast<size_t>(value.value) + 1);
    if (counts_[value.value]++ == 0) changed(value);
  };
  const auto remove = [&](Value value) {
    if (values.is(value, Kind::Null)) return;
    value = held(value);
    if (--counts_[value.value] == 0) changed(value);
  };
  const auto go_over = [&](std::vector<Value>& from, const std::vector<Value>& to) {
    const auto [gone, come] = std::mismatch(from.begin(), from.end(), to.begin(), to.end());
    std::for_each(gone, from.end(), remove);
    std::for_each(come, to.end(), add);
    from.resize(static_cast<size_t>(gone - from.begin()));
    from.insert(from.end(), come, to.end());
  };
  if (locals_.empty()) {
    half.locals.for_each(add);
    locals_ = half.locals;
  } else {
    locals_.become(half.locals, [&](Value was, Value is) {
      remove(was);
      add(is);
    });
  }
  go_over(stack_, half.stack);
  go_over(exceptions_, half.exceptions);
}

Lifetimes::Lifetimes(Values& values, const std::vector<std::string>& owned) {
  for (const std::string& name : owned) {
    const bool is_of_items = name.ends_with("[]");
    const std::string attribute = name.substr(0, name.size() - (is_of_items ? 2 : 0));
    (is_of_items ? owned_items_ : owned_).insert(values.name(attribute).value);
  }
}

void Lifetimes::loaded(Value attribute, Value object, Name name) {
  objects_[attribute.value] = object;
  if (owned_.count(name.value)) keeps(object, attribute);
  if (owned_items_.count(name.value)) keepers_.insert(attribute.value);
}

void Lifetimes::taken(Value item, Value container) {
  if (keepers_.count(container.value)) keeps(container, item);
}

// Updates whether a value has to be checked, after the references to it have changed.
void Lifetimes::look_at(const Values& values, Value value) {
  const bool is_only_of_b = of_b_.has(value.value) && !of_a_.has(value.value);
  if (is_only_of_b && is_object(values, value)) {
    only_b_.insert(value.value);
  } else {
    only_b_.erase(value.value);
  }
}

void Lifetimes::update(const Values& values, const State& state) {
  of_a_.update(values, state[Side::A], [&](Value value) {
    look_at(values, value);
    if (of_a_.has(value.value)) return;
    const auto kept = kept_.find(value.value);
    if (kept == kept_.end()) return;
    for (const uint32_t item : kept->second) look_at(values, Value(item));
    kept_.erase(kept);
  });
  of_b_.update(values, state[Side::B], [&](Value value) { look_at(values, value); });
}

// Collects what A's frame refers to through containers and cells, and what the call of `callee`
// refers to.
void Lifetimes::find_indirect(const State& state, Value callee) {
  found_.clear();
  for (const Container& container : state.heap) {
    if (of_a_.has(container.self.value)) todo_.push_back(container.self);
  }
  closure(state, todo_, found_, [](Value) {});
  for (const OwnCell& cell : state.cells) found_.insert(cell.content.value);
  for (auto it = objects_.find(callee.value); it != objects_.end();
       it = objects_.find(it->second.value)) {
    if (is_found(it->second.value)) break;
    found_.insert(it->second.value);
  }
}

// Returns true if A keeps the value or one of its owners. Owners are older than what they own, so
// this terminates.
bool Lifetimes::is_kept(uint32_t value) const {
  if (is_found(value)) return true;
  for (auto it = owners_.find(value); it != owners_.end(); it = owners_.find(it->second.value)) {
    if (is_found(it->second.value)) return true;
  }
  return false;
}

// Returns true if a value that A's frame refers to keeps this one alive: no need to check it again
// until that changes.
bool Lifetimes::set_aside(uint32_t value) {
  for (auto it = owners_.find(value); it != owners_.end(); it = owners_.find(it->second.value)) {
    if (!of_a_.has(it->second.value)) continue;
    kept_[it->second.value].push_back(value);
    return true;
  }
  return false;
}

Value Lifetimes::outlives(const Values& values, const State& state, Value callee) {
  update(values, state);
  std::erase_if(only_b_, [&](uint32_t value) { return set_aside(value); });
  if (only_b_.empty() && state.heap.empty()) return {};
  find_indirect(state, callee);
  Value longer;
  const auto ask = [&](Value value) {
    const bool is_later = !longer.valid() || longer.value < value.value;
    if (is_later && is_object(values, value) && !is_kept(value.value)) longer = value;
  };
  for (const uint32_t value : only_b_) ask(Value(value));
  seen_.clear();
  for (const Container& container : state.heap) {
    if (of_b_.has(container.self.value)) todo_.push_back(container.self);
  }
  closure(state, todo_, seen_, ask);
  return longer;
}

}  // namespace pellucid::verify
