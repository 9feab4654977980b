// SPDX-License-Identifier: Apache-2.0
// verify::lower: functions.
#pragma once

#include <cstdint>

#include "verify/lower/unit.h"

namespace pellucid::verify::lower {

void function_definition(Unit& unit, NodeId node);
void lambda(Unit& unit, NodeId node);

// Compiles the code of a FunctionDef.
CodeId function_code(Unit& unit, NodeId node);
// Makes a function; the parts named by `flags` (defaults and the like) are on the stack.
void make_function(Unit& unit, CodeId code, uint32_t flags);
// Returns the arguments of a node; none if it is absent.
ast::arguments arguments_of(const Unit& unit, NodeId node);

}  // namespace pellucid::verify::lower
