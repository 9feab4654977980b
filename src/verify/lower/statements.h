// SPDX-License-Identifier: Apache-2.0
// verify::lower: any statement, by the file of its construct.
#pragma once

#include "verify/lower/unit.h"

namespace pellucid::verify::lower {

void statement(Unit& unit, NodeId node);
void statements(Unit& unit, ListId list);
// Compiles the body of a module, class or function, whose first statement may be a docstring.
void body_with_docstring(Unit& unit, ListId body, bool is_function);

}  // namespace pellucid::verify::lower
