// SPDX-License-Identifier: Apache-2.0
// verify::lower: with. __exit__ is called once for each exit of the statement.
#pragma once

#include "verify/lower/unit.h"

namespace pellucid::verify::lower {

void with_statement(Unit& unit, const ast::With& node);
// Calls the __exit__ on the stack, as no exception was raised.
void call_exit(Unit& unit, bool is_async);

}  // namespace pellucid::verify::lower
