// SPDX-License-Identifier: Apache-2.0
// The contents of the cells of arguments, in generated code.
//
// Dynamo writes arguments that are in cells back into them, changed or not. Until such a cell
// escapes from the frame, it holds the value the frame was called with: loading it is not an
// effect, and neither is storing the same value again. A function that refers to it may be made,
// but must not escape; at joins, which functions refer to it is not tracked.
#include <algorithm>

#include "verify/walk/walk.h"

namespace pellucid::verify {

OwnCell* Machine::own_cell(State& state, const Instr& instr) const {
  if (state.cells.empty()) return nullptr;
  OwnCell* cell = state.own_cell(slot(instr));
  if (cell == nullptr) return nullptr;
  // An inlined comprehension has another cell under the same name.
  const bool is_first = context_->values->is(state[side_].locals[cell->slot], Kind::Cell);
  return is_first ? cell : nullptr;
}

void Walk::own_cells(State& state) const {
  if (!context_.assumed.any()) return;
  const auto find = [&](const Machine& machine, Side side) {
    const object::Code& code = machine.code();
    const auto first = code.varnames.begin();
    const auto last = first + object::parameter_count(code);
    std::vector<uint32_t> slots;
    for (const Symbol symbol : code.cellvars) {
      if (std::find(first, last, symbol) == last) continue;
      slots.push_back(context_.frame->slot(values_.name(side, symbol)));
    }
    std::sort(slots.begin(), slots.end());
    return slots;
  };
  const std::vector<uint32_t> of_a = find(a_, Side::A), of_b = find(b_, Side::B);
  for (const uint32_t slot : of_a) {
    if (!std::binary_search(of_b.begin(), of_b.end(), slot)) continue;
    const Name name = context_.frame->names[slot];
    state.cells.push_back({slot, values_.fresh(Kind::Unknown, name)});
  }
}

// Returns the cells that can be reached from these values.
std::vector<uint32_t> Walk::cells_behind(const State& state, std::vector<Value> values) const {
  std::vector<uint32_t> found;
  Marks seen;
  for (Value& value : values) {
    if (values_.is(value, Kind::Method)) value = Value(values_[value].x);
  }
  closure(state, values, seen, [&](Value value) {
    if (const std::vector<uint32_t>* cells = context_.assumed.cells_of(value)) {
      found.insert(found.end(), cells->begin(), cells->end());
    }
    if (values_.is(value, Kind::Cell)) {
      found.push_back(context_.frame->slot(Name(values_[value].x)));
    }
  });
  return found;
}

void Walk::lose_behind(State& state, std::vector<Value> values) const {
  if (state.cells.empty()) return;
  const std::vector<uint32_t> behind = cells_behind(state, std::move(values));
  std::erase_if(state.cells, [&](const OwnCell& cell) {
    return std::find(behind.begin(), behind.end(), cell.slot) != behind.end();
  });
}

void Walk::lose_taken(State& state) const {
  std::erase_if(state.cells, [](const OwnCell& cell) { return cell.is_taken; });
}

// Returns true if the effect makes a function from values through which the cells cannot escape.
bool Walk::makes_function(const State& state, const Effect& effect) const {
  const bool makes = effect.op == Op::MakeFunction || effect.op == Op::SetFunctionAttribute ||
                     (effect.op == Op::Call && !effect.inputs.empty() &&
                      context_.assumed.is_maker(values_, effect.inputs[0]));
  return makes && std::all_of(effect.inputs.begin(), effect.inputs.end(), [&](Value input) {
           const Container* container = state.container(input);
           return container == nullptr || is_closure(values_, *container);
         });
}

// Before an effect: forgets the cells that escape by it or that it changes. If it makes a function,
// returns the cells that the function refers to.
std::vector<uint32_t> Walk::hand_over(State& state, const Effect& a, const Effect& b) const {
  if (state.cells.empty()) return {};
  if (a.op == Op::StoreDeref || a.op == Op::DeleteDeref || a.op == Op::MakeCell) {
    const uint32_t slot = context_.frame->slot(Name(a.a));
    std::erase_if(state.cells, [&](const OwnCell& cell) { return cell.slot == slot; });
  }
  std::vector<Value> inputs = a.inputs;
  inputs.insert(inputs.end(), b.inputs.begin(), b.inputs.end());
  if (makes_function(state, a) && makes_function(state, b)) {
    return cells_behind(state, std::move(inputs));
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
  lose_behind(state, std::move(inputs));
  return {};
}

}  // namespace pellucid::verify
