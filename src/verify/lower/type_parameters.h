// SPDX-License-Identifier: Apache-2.0
// verify::lower: type parameters and aliases (3.12+): hidden functions, called at once, that bind
// the parameters and return their function, class or alias; bounds, defaults and values of aliases
// are deferred in separate functions.
#pragma once

#include <cstdint>

#include "verify/lower/unit.h"

namespace pellucid::verify::lower {

void type_alias(Unit& unit, NodeId node);
// Makes the function of a FunctionDef with type parameters; the parts named by `flags` are on the
// stack.
void generic_function(Unit& unit, NodeId node, uint32_t flags);
// Makes the class of a ClassDef with type parameters.
void generic_class(Unit& unit, NodeId node);

}  // namespace pellucid::verify::lower
