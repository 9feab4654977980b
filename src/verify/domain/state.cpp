// SPDX-License-Identifier: Apache-2.0
#include "verify/domain/state.h"

#include <algorithm>
#include <unordered_set>

#include "base/check.h"

namespace pellucid::verify {

uint32_t Frame::slot(Name name) const {
  const auto it = slots.find(name.value);
  PELLUCID_CHECK(it != slots.end());
  return it->second;
}

void Frame::add(Name name, Side side) {
  const auto [it, is_new] = slots.try_emplace(name.value, static_cast<uint32_t>(names.size()));
  if (is_new) {
    names.push_back(name);
    owners.push_back(static_cast<Owner>(0));
  }
  Owner& owner = owners[it->second];
  owner = static_cast<Owner>(owner | (side == Side::A ? kOnlyA : kOnlyB));
}

std::vector<uint32_t> Frame::of_one_side() const {
  std::vector<uint32_t> found;
  for (uint32_t slot = 0; slot < owners.size(); ++slot) {
    if (owners[slot] == kOnlyA || owners[slot] == kOnlyB) found.push_back(slot);
  }
  return found;
}

std::vector<Symbol> slots_of(const object::Code& code) {
  const bool has_locals = (code.flags & object::kOptimized) != 0;
  if (has_locals && code.version.minor >= 11) return code.localsplus;
  std::vector<Symbol> slots;
  if (has_locals) slots = code.varnames;
  // The slot of an argument that is a cell is empty.
  std::erase_if(slots, [&](Symbol name) { return std::ranges::count(code.cellvars, name) > 0; });
  slots.insert(slots.end(), code.cellvars.begin(), code.cellvars.end());
  slots.insert(slots.end(), code.freevars.begin(), code.freevars.end());
  return slots;
}

Container* State::container(Value value) {
  for (Container& container : heap) {
    if (container.self == value) return &container;
  }
  return nullptr;
}

const Container* State::container(Value value) const {
  return const_cast<State*>(this)->container(value);
}

OwnCell* State::own_cell(uint32_t slot) {
  for (OwnCell& cell : cells) {
    if (cell.slot == slot) return &cell;
  }
  return nullptr;
}

namespace {

Value substitute(Values& values, Value in, Value from, Value to) {
  if (in == from) return to;
  const Node node = values[in];
  switch (node.kind) {
    case Kind::Not:
      return values.negation(substitute(values, Value(node.x), from, to));
    case Kind::Is:
      if (node.x != from.value && node.y != from.value) return in;
      return values.identity(node.x == from.value ? to : Value(node.x),
                             node.y == from.value ? to : Value(node.y));
    case Kind::Method:
      return node.x == from.value ? values.method(to, Name(node.y)) : in;
    case Kind::Null:
    case Kind::Const:
    case Kind::Code:
    case Kind::Cell:
    case Kind::Special:
    case Kind::Unknown:
    case Kind::Bool:
    case Kind::Maybe:
    case Kind::Fresh:
      return in;
  }
  return in;
}

// Returns true if both are identity tests: they are one value if the objects are.
bool same_test(const Values& values, Value a, Value b) {
  return a != b && values[a].kind == values[b].kind &&
         (values.is(a, Kind::Is) || values.is(a, Kind::Not));
}

bool same_method(const Values& values, Value x, Value y) {
  return values.is(x, Kind::Method) && values.is(y, Kind::Method) && values[x].y == values[y].y;
}

// Returns how many values may be compared: each item once, and some more than once.
size_t comparing_budget(const State& state) {
  size_t budget = 10000;
  for (const Container& container : state.heap) budget += container.items.size();
  return budget;
}

// Returns true if unify(x, y) would hold, without doing it. The nesting of containers is a DAG
// whose depth the program text bounds; `budget` bounds the work.
bool can_unify(Values& values, const State& state, Value x, Value y, size_t& budget) {
  std::vector<std::pair<Value, Value>> todo{{x, y}};
  std::vector<std::pair<Value, Value>> assumed;
  while (!todo.empty()) {
    if (budget-- == 0) return false;
    const auto [a, b] = todo.back();
    todo.pop_back();
    if (a == b && !values.is(a, Kind::Fresh)) continue;
    if (values.is(a, Kind::Code) && values.is(b, Kind::Code)) {
      if (values[a].y == 0 && values[b].y == 1) continue;
      return false;
    }
    if (same_method(values, a, b)) {
      todo.emplace_back(Value(values[a].x), Value(values[b].x));
      continue;
    }
    if (same_test(values, a, b)) {
      todo.emplace_back(Value(values[a].x), Value(values[b].x));
      if (values.is(a, Kind::Is)) todo.emplace_back(Value(values[a].y), Value(values[b].y));
      continue;
    }
    const Container* in_a = state.container(a);
    const Container* in_b = state.container(b);
    if (in_a == nullptr || in_b == nullptr) return false;
    if (in_a->shape != in_b->shape || in_a->items.size() != in_b->items.size()) return false;
    if (in_a->side != Side::A || in_b->side != Side::B) return false;
    // Each object of A corresponds to exactly one of B.
    bool known = false;
    for (const auto& [p, q] : assumed) {
      if ((p == a) != (q == b)) return false;
      known = known || p == a;
    }
    if (known) continue;
    assumed.emplace_back(a, b);
    const bool are_named =
        in_a->shape == Container::kFunction &&
        values.same_qualname(in_a->items[Container::kQualname], in_b->items[Container::kQualname]);
    for (size_t i = 0; i < in_a->items.size(); ++i) {
      if (are_named && i == Container::kQualname) continue;
      todo.emplace_back(in_a->items[i], in_b->items[i]);
    }
  }
  return true;
}

void forget(State& state, Value value) {
  std::erase_if(state.heap, [&](const Container& container) { return container.self == value; });
}

}  // namespace

bool is_closure(const Values& values, const Container& container) {
  return container.shape == Container::kTuple &&
         std::all_of(container.items.begin(), container.items.end(),
                     [&](Value item) { return values.is(item, Kind::Cell); });
}

void replace(Values& values, State& state, Value from, Value to) {
  const auto now = [&](Value value) { return substitute(values, value, from, to); };
  for (Half& half : state.half) {
    for (Value& value : half.stack) value = now(value);
    half.locals.rewrite(values, from, now);
    for (Value& value : half.exceptions) value = now(value);
    for (Value& value : half.released) value = now(value);
    if (!half.tested.valid()) continue;
    half.tested = now(half.tested);
    half.truth = now(half.truth);
  }
  for (Container& container : state.heap) {
    for (Value& value : container.items) value = now(value);
  }
  for (OwnCell& cell : state.cells) cell.content = now(cell.content);
}

void give_up(Values& values, State& state, Value from, Name hint) {
  std::vector<Value> todo{from};
  while (!todo.empty()) {
    const Value next = todo.back();
    todo.pop_back();
    const Container* container = state.container(next);
    if (container == nullptr) continue;
    for (Value item : container->items) todo.push_back(item);
    forget(state, next);
    const Name known = next == from && hint.valid() ? hint : values[next].hint;
    replace(values, state, next, values.fresh(Kind::Unknown, known));
  }
}

bool unify(Values& values, State& state, Value x, Value y, CodePairs& pairs,
           std::vector<Value>* made) {
  if (x == y && !values.is(x, Kind::Fresh)) return true;
  size_t budget = comparing_budget(state);
  if (!can_unify(values, state, x, y, budget)) return false;
  std::vector<std::pair<Value, Value>> todo{{x, y}};
  while (!todo.empty()) {
    const auto [a, b] = todo.back();
    todo.pop_back();
    if (values.is(a, Kind::Code) && values.is(b, Kind::Code)) {
      pairs.emplace_back(object::CodeId(values[a].x), object::CodeId(values[b].x));
      continue;
    }
    if (same_method(values, a, b)) {
      todo.emplace_back(Value(values[a].x), Value(values[b].x));
      continue;
    }
    if (same_test(values, a, b)) {
      todo.emplace_back(Value(values[a].x), Value(values[b].x));
      if (values.is(a, Kind::Is)) todo.emplace_back(Value(values[a].y), Value(values[b].y));
      continue;
    }
    const Container* in_a = state.container(a);
    const Container* in_b = state.container(b);
    // The same, or unified by an earlier pair.
    if (in_a == nullptr || in_b == nullptr) continue;
    for (size_t i = 0; i < in_a->items.size(); ++i) {
      todo.emplace_back(in_a->items[i], in_b->items[i]);
    }
    const bool of_frame = is_closure(values, *in_a) && is_closure(values, *in_b);
    const Value one =
        values.fresh(Kind::Unknown, values[a].hint, of_frame ? Known::OfFrame : Known::Nothing);
    if (made != nullptr) made->push_back(one);
    for (const Value container : {a, b}) {
      forget(state, container);
      replace(values, state, container, one);
    }
  }
  return true;
}

void collect(const Values& values, State& state) {
  std::unordered_set<uint32_t> used;
  for (bool grew = true; grew;) {
    const size_t before = used.size();
    // Structures are at most three deep: not, is, value.
    const auto use = [&](Value value, const auto& again) -> void {
      if (!value.valid()) return;
      const Node& node = values[value];
      if (node.kind == Kind::Fresh) used.insert(value.value);
      if (node.kind == Kind::Not || node.kind == Kind::Is || node.kind == Kind::Method) {
        again(Value(node.x), again);
      }
      if (node.kind == Kind::Is) again(Value(node.y), again);
    };
    for (const Half& half : state.half) {
      for (Value value : half.stack) use(value, use);
      half.locals.for_each_compound([&](Value value) { use(value, use); });
      use(half.tested, use);
      use(half.truth, use);
    }
    for (const Container& container : state.heap) {
      if (used.contains(container.self.value)) {
        for (Value value : container.items) use(value, use);
      }
    }
    grew = used.size() > before;
  }
  std::erase_if(state.heap,
                [&](const Container& container) { return !used.contains(container.self.value); });
}

bool settle_heap(Values& values, State& state, CodePairs& pairs, Settle what) {
  if (state.heap.empty()) return false;
  collect(values, state);
  std::vector<Value> of[2];
  for (const Container& container : state.heap) {
    if (container.shape == Container::kFunction) continue;
    if (container.shape == Container::kDict && what == Settle::kButDictionaries) continue;
    of[index(container.side)].push_back(container.self);
  }
  // The last allocated first: if A has more containers, generated code has left unused ones at the
  // bottom of its stack. If B has more, it has passed a join at which A waits, and its last ones
  // were made after that join, so the first allocated are matched first.
  const bool b_is_ahead = of[1].size() > of[0].size();
  if (b_is_ahead) {
    for (std::vector<Value>& made : of) std::reverse(made.begin(), made.end());
  }
  size_t budget = comparing_budget(state);
  bool found = false;
  for (size_t i = of[0].size(); i-- > 0;) {
    const Value a = of[0][i];
    for (size_t j = of[1].size(); j-- > 0;) {
      const Value b = of[1][j];
      // Both may have been unified as items of a container.
      if (state.container(a) == nullptr || state.container(b) == nullptr) continue;
      if (!can_unify(values, state, a, b, budget)) continue;
      unify(values, state, a, b, pairs);
      found = true;
      break;
    }
  }
  return found;
}

}  // namespace pellucid::verify
