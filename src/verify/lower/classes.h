// SPDX-License-Identifier: Apache-2.0
// verify::lower: classes.
#pragma once

#include <vector>

#include "verify/lower/unit.h"

namespace pellucid::verify::lower {

void class_definition(Unit& unit, NodeId node);

// Compiles the code of a ClassDef.
CodeId class_code(Unit& unit, NodeId node);
// Pushes __build_class__ to be called.
void load_build_class(Unit& unit);
// Completes the call of __build_class__, with two arguments already on the stack: the body and the
// name.
void class_arguments(Unit& unit, const ast::ClassDef& def, const std::vector<Symbol>& injected);

}  // namespace pellucid::verify::lower
