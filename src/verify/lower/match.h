// SPDX-License-Identifier: Apache-2.0
// verify::lower: match.
#pragma once

#include "verify/lower/unit.h"

namespace pellucid::verify::lower {

void match_statement(Unit& unit, const ast::Match& node);

}  // namespace pellucid::verify::lower
