// SPDX-License-Identifier: Apache-2.0
// verify::lower: try. A finally body is compiled once for each exit of its statement.
#pragma once

#include "verify/lower/unit.h"

namespace pellucid::verify::lower {

void try_statement(Unit& unit, const ast::Try& node);
// Starts the code of a handler: the exception becomes the one that is handled (3.11+).
void push_exception(Unit& unit);

}  // namespace pellucid::verify::lower
