// SPDX-License-Identifier: Apache-2.0
#include "verify/machine/releases.h"

#include <algorithm>

namespace pellucid::verify {

namespace {

// Returns true if a slot that holds `value` refers to `to` directly.
bool is_reference(const Values& values, Value value, Value to) {
  return value == to || (values.is(value, Kind::Method) && values[value].x == to.value);
}

// Returns true if the frame refers to the value itself.
bool holds_directly(const Values& values, const State& state, Side side, Value value) {
  const Half& half = state[side];
  const auto refers = [&](Value held) { return is_reference(values, held, value); };
  if (std::any_of(half.stack.rbegin(), half.stack.rend(), refers)) return true;
  if (std::any_of(half.exceptions.begin(), half.exceptions.end(), refers)) return true;
  if (half.locals.contains(value)) return true;
  bool found = std::any_of(state.cells.begin(), state.cells.end(),
                           [&](const OwnCell& cell) { return refers(cell.content); });
  if (!found && values.is(value, Kind::Fresh)) {
    half.locals.for_each_compound([&](Value held) { found = found || refers(held); });
  }
  return found;
}

// Returns true if the frame refers to the value, itself or by containers.
bool holds(const Values& values, const State& state, Side side, Value value) {
  std::vector<Value> wanted{value};
  for (size_t next = 0; next < wanted.size(); ++next) {
    const Value one = wanted[next];
    if (holds_directly(values, state, side, one)) return true;
    // The latest container is the likeliest to have it.
    for (auto in = state.heap.rbegin(); in != state.heap.rend(); ++in) {
      if (in->side != side || std::find(wanted.begin(), wanted.end(), in->self) != wanted.end()) {
        continue;
      }
      const bool has = std::any_of(in->items.begin(), in->items.end(),
                                   [&](Value item) { return is_reference(values, item, one); });
      if (!has) continue;
      if (holds_directly(values, state, side, in->self)) return true;
      wanted.push_back(in->self);
    }
  }
  return false;
}

// Adds the items of a container so that those that are released first are the last ones.
void add_items(const Container& container, std::vector<Value>& todo) {
  const bool is_sequence =
      container.shape == Container::kTuple || container.shape == Container::kList;
  const auto add = [&](auto first, auto last) { todo.insert(todo.end(), first, last); };
  if (is_sequence) return add(container.items.begin(), container.items.end());
  add(container.items.rbegin(), container.items.rend());
}

}  // namespace

void Release::add(Value value) {
  if (may_run_code(on_.values()[value].kind)) found_.push_back(value);
}

void Release::add_top(const State& state, size_t slots) {
  const std::vector<Value>& stack = state[on_.side].stack;
  for (size_t i = 0; i < slots && i < stack.size(); ++i) add(stack[stack.size() - 1 - i]);
}

// Adds what a container holds under a key: it may be replaced.
void Release::add_item(const State& state, Value in, Value key) {
  const Container* container = state.container(in);
  if (container == nullptr) return;
  const std::vector<Value>& items = container->items;
  if (container->shape == Container::kDict) {
    for (size_t i = 0; i + 1 < items.size(); i += 2) {
      if (items[i] == key) add(items[i + 1]);
    }
    return;
  }
  const auto size = static_cast<int64_t>(items.size());
  const auto index = as_integer(on_.values(), key);
  if (!index) {
    for (const Value item : items) add(item);
  } else if (-size <= *index && *index < size) {
    add(items[static_cast<size_t>(*index < 0 ? *index + size : *index)]);
  }
}

void Release::add_exceptions(const State& state, size_t left) {
  const std::vector<Value>& exceptions = state[on_.side].exceptions;
  for (size_t i = exceptions.size(); i-- > left;) add(exceptions[i]);
}

void Release::add(const State& state, const Instr& instr) {
  const std::vector<Value>& stack = state[on_.side].stack;
  const auto at = [&](size_t depth) {
    return depth <= stack.size() ? stack[stack.size() - depth] : on_.values().null();
  };
  const size_t pops = bytecode::stack_effect(instr).pops;
  add_top(state, pops);
  switch (instr.op) {
    case Op::StoreFast:
    case Op::DeleteFast:
      add_local(state, on_.slot(instr));
      break;
    case Op::PopExcept:
      add_exceptions(state, state[on_.side].exceptions.size() - 1);
      break;
    case Op::StoreSubscr:
    case Op::DeleteSubscr:
      add_item(state, at(2), at(1));
      break;
    case Op::MapAdd:
      add_item(state, at(pops + instr.a), at(2));
      break;
    case Op::DictUpdate:
    case Op::DictMerge:
      if (const Container* added = state.container(at(1))) {
        for (size_t i = 0; i < added->items.size(); i += 2) {
          add_item(state, at(pops + instr.a), added->items[i]);
        }
      }
      break;
    default:
      break;
  }
}

void Release::log(State& state) const {
  const Values& values = on_.values();
  std::vector<Value> done;
  std::vector<Value> todo(found_.rbegin(), found_.rend());
  while (!todo.empty()) {
    const Value value = todo.back();
    todo.pop_back();
    if (!may_run_code(values[value].kind)) continue;
    if (std::find(done.begin(), done.end(), value) != done.end()) continue;
    if (holds(values, state, on_.side, value)) continue;
    done.push_back(value);
    if (values.is(value, Kind::Method)) {
      todo.push_back(Value(values[value].x));
    } else if (const Container* container = state.container(value)) {
      add_items(*container, todo);
    } else {
      state[on_.side].released.push_back(value);
    }
  }
}

}  // namespace pellucid::verify
