// SPDX-License-Identifier: Apache-2.0
// The contents of the cells of arguments, in generated code.
//
// Dynamo writes arguments that are in cells back into them, changed or not. Until such a cell
// escapes from the frame, it holds the value the frame was called with: loading it is not an
// effect, and neither is storing the same value again. A function that refers to it may be made,
// but must not escape; at joins, which functions refer to it is not tracked.
#pragma once

#include <cstdint>
#include <vector>

#include "verify/machine/machine.h"

namespace pellucid::verify {

// Notes the cells of arguments that both sides have, in the state at the functions' entries.
void find_own_cells(const Context& context, const Machine& a, const Machine& b, State& state);
// Returns the slots of the cells that can be reached from these values.
std::vector<uint32_t> cells_reached_by(const Context& context, const State& state,
                                       std::vector<Value> from);
// Forgets the contents of the cells that can be reached from these values.
void lose_reached_by(const Context& context, State& state, std::vector<Value> from);
// Forgets the contents of the cells that some value in the frame may refer to.
void lose_taken(State& state);
// Before an effect: forgets the cells that escape by it or that it changes. If it makes a function,
// returns the cells that the function refers to.
std::vector<uint32_t> hand_over(const Context& context, State& state, const Effect& a,
                                const Effect& b);

}  // namespace pellucid::verify
