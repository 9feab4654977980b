// SPDX-License-Identifier: Apache-2.0
// verify::lower: imports.
#pragma once

#include "verify/lower/unit.h"

namespace pellucid::verify::lower {

void import_statement(Unit& unit, const ast::Import& node);
void import_from_statement(Unit& unit, const ast::ImportFrom& node);

}  // namespace pellucid::verify::lower
