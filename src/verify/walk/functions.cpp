// SPDX-License-Identifier: Apache-2.0
#include "verify/walk/functions.h"

#include <algorithm>

#include "verify/walk/cells.h"

namespace pellucid::verify {

namespace {

// Returns true if the cells that a function refers to are reached only through the function.
bool hides_cells(const Values& values, const State& state, Value value) {
  const Container* function = state.container(value);
  return function != nullptr && function->shape == Container::kFunction &&
         std::all_of(function->items.begin(), function->items.end(), [&](Value item) {
           const Container* container = state.container(item);
           return container == nullptr || is_closure(values, *container);
         });
}

}  // namespace

bool passes_functions(const Effect& effect) {
  switch (effect.op) {
    case Op::LoadFast:
    case Op::LoadDeref:
    case Op::LoadGlobal:
      return effect.exit == ExitKind::Goto;
    default:
      return false;
  }
}

bool make_one(Context& context, State& state, Value x, Value y, CodePairs& pairs) {
  Values& values = *context.values;
  const bool is_new = values.is(x, Kind::Fresh) || values.is(y, Kind::Fresh);
  if (!is_new || state.cells.empty()) return unify(values, state, x, y, pairs);
  if (!hides_cells(values, state, x) || !hides_cells(values, state, y)) {
    lose_reached_by(context, state, {x, y});
    return unify(values, state, x, y, pairs);
  }
  const std::vector<uint32_t> cells = cells_reached_by(context, state, {x, y});
  std::vector<Value> made;
  const bool is_one = unify(values, state, x, y, pairs, &made);
  for (const Value value : made) context.assumed.made(value, cells);
  return is_one;
}

void settle_functions(Context& context, State& state, bool all, CodePairs& pairs) {
  Values& values = *context.values;
  const auto is_function = [](const Container& container) {
    return container.shape == Container::kFunction;
  };
  if (std::none_of(state.heap.begin(), state.heap.end(), is_function)) return;
  collect(values, state);
  std::vector<Value> of[2];
  for (const Container& container : state.heap) {
    if (is_function(container)) of[index(container.side)].push_back(container.self);
  }
  if (of[1].size() > of[0].size()) {
    for (std::vector<Value>& made : of) std::reverse(made.begin(), made.end());
  }
  for (size_t i = of[0].size(); i-- > 0;) {
    for (size_t j = of[1].size(); j-- > 0;) {
      // Both may have been unified as items of a container.
      const Value a = of[0][i], b = of[1][j];
      if (state.container(a) == nullptr || state.container(b) == nullptr) continue;
      if (values[a].hint == values[b].hint && make_one(context, state, a, b, pairs)) break;
    }
  }
  if (!all) return;
  for (const std::vector<Value>& side : of) {
    for (const Value left : side) {
      if (state.container(left) == nullptr) continue;
      lose_reached_by(context, state, {left});
      std::string hint(values.text(values[left].hint));
      give_up(values, state, left, values.name(hint += " that is made earlier than the other"));
    }
  }
}

}  // namespace pellucid::verify
