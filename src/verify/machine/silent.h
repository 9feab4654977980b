// SPDX-License-Identifier: Apache-2.0
// The instructions of the symbolic machine that have no effect. Private to verify/machine.
#pragma once

#include <optional>
#include <string>

#include "verify/machine/machine.h"

namespace pellucid::verify {

// Each function executes an instruction, or several that belong together, if that has no effect;
// it returns false if it has, or if the function is not about it.

// Executes any instruction but the exit of a block. Sets `problem` if the proof ends here.
bool execute(const SideCode& on, State& state, const Instr& instr, std::string& problem);

// -- functions.cpp --

bool make_function(const SideCode& on, State& state, const Instr& instr);
bool set_function_attribute(const SideCode& on, State& state, const Instr& instr);
// Executes `(lambda: x).__closure__[0]`, which is how source text refers to the cell of x: a
// function is made, its closure, which cannot be replaced, is read, and it is dropped.
bool take_cell(const SideCode& on, State& state, Point& point);

// -- generated.cpp --

// Loads a global or an attribute that is assumed to stay the same.
bool load_steady(const SideCode& on, State& state, const Instr& instr);
// Executes `(lambda: None)()` of generated code, where the callee is a known constant.
bool call_nothing(const SideCode& on, State& state, const Instr& instr);
// Executes `(lambda a, b, c: (b, a, c))(*(x, y, z))` of generated code, with such a constant.
bool call_rotation(const SideCode& on, State& state, const Instr& instr);
// Executes `r[1]`, or `a, b = r[:2]`, on the outputs of a graph.
bool take_item(const SideCode& on, State& state, Point& point);

}  // namespace pellucid::verify
