// SPDX-License-Identifier: Apache-2.0
#include "verify/walk/cells.h"

#include <algorithm>
#include <utility>

namespace pellucid::verify {

namespace {

// Returns true if the effect makes a function from values through which the cells cannot escape.
bool makes_function(const Context& context, const State& state, const Effect& effect) {
  const Values& values = *context.values;
  const bool makes = effect.op == Op::MakeFunction || effect.op == Op::SetFunctionAttribute ||
                     (effect.op == Op::Call && !effect.inputs.empty() &&
                      context.assumed.is_maker(values, effect.inputs[0]));
  return makes && std::all_of(effect.inputs.begin(), effect.inputs.end(), [&](Value input) {
           const Container* container = state.container(input);
           return container == nullptr || is_closure(values, *container);
         });
}

}  // namespace

void find_own_cells(const Context& context, const Machine& a, const Machine& b, State& state) {
  if (!context.assumed.any()) return;
  Values& values = *context.values;
  const auto find = [&](const Machine& machine, Side side) {
    const object::Code& code = machine.code();
    const auto first = code.varnames.begin();
    const auto last = first + object::parameter_count(code);
    std::vector<uint32_t> slots;
    for (const Symbol symbol : code.cellvars) {
      if (std::find(first, last, symbol) == last) continue;
      slots.push_back(context.frame->slot(values.name(side, symbol)));
    }
    std::sort(slots.begin(), slots.end());
    return slots;
  };
  const std::vector<uint32_t> of_a = find(a, Side::A), of_b = find(b, Side::B);
  for (const uint32_t slot : of_a) {
    if (!std::binary_search(of_b.begin(), of_b.end(), slot)) continue;
    const Name name = context.frame->names[slot];
    state.cells.push_back({slot, values.fresh(Kind::Unknown, name)});
  }
}

std::vector<uint32_t> cells_reached_by(const Context& context, const State& state,
                                       std::vector<Value> from) {
  const Values& values = *context.values;
  std::vector<uint32_t> found;
  Marks seen;
  for (Value& value : from) {
    if (values.is(value, Kind::Method)) value = Value(values[value].x);
  }
  closure(state, from, seen, [&](Value value) {
    if (const std::vector<uint32_t>* cells = context.assumed.cells_of(value)) {
      found.insert(found.end(), cells->begin(), cells->end());
    }
    if (values.is(value, Kind::Cell)) {
      found.push_back(context.frame->slot(Name(values[value].x)));
    }
  });
  return found;
}

void lose_reached_by(const Context& context, State& state, std::vector<Value> from) {
  if (state.cells.empty()) return;
  const std::vector<uint32_t> in_reach = cells_reached_by(context, state, std::move(from));
  std::erase_if(state.cells, [&](const OwnCell& cell) {
    return std::find(in_reach.begin(), in_reach.end(), cell.slot) != in_reach.end();
  });
}

void lose_taken(State& state) {
  std::erase_if(state.cells, [](const OwnCell& cell) { return cell.is_taken; });
}

std::vector<uint32_t> hand_over(const Context& context, State& state, const Effect& a,
                                const Effect& b) {
  if (state.cells.empty()) return {};
  if (a.op == Op::StoreDeref || a.op == Op::DeleteDeref || a.op == Op::MakeCell) {
    const uint32_t slot = context.frame->slot(Name(a.a));
    std::erase_if(state.cells, [&](const OwnCell& cell) { return cell.slot == slot; });
  }
  std::vector<Value> inputs = a.inputs;
  inputs.insert(inputs.end(), b.inputs.begin(), b.inputs.end());
  if (makes_function(context, state, a) && makes_function(context, state, b)) {
    return cells_reached_by(context, state, std::move(inputs));
  }
  // An instruction on a cell has the cell itself as an operand.
  const auto works_on_cell = [](const Effect& effect) {
    return bytecode::operand_of(effect.op) == bytecode::Operand::Cell;
  };
  if (works_on_cell(a) && !a.inputs.empty()) {
    inputs.assign(a.inputs.begin(), a.inputs.end() - 1);
    if (works_on_cell(b) && !b.inputs.empty()) {
      inputs.insert(inputs.end(), b.inputs.begin(), b.inputs.end() - 1);
    }
  }
  lose_reached_by(context, state, std::move(inputs));
  return {};
}

}  // namespace pellucid::verify
