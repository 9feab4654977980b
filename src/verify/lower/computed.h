// SPDX-License-Identifier: Apache-2.0
// verify::lower: operations on constants that CPython may compute when it compiles.
#pragma once

#include "verify/lower/unit.h"

namespace pellucid::verify::lower {

// Gives up on an operation or a display that CPython may make one object of when it compiles: code
// that computes it makes another one each time. What cannot be computed (`1 / 0`), or would be too
// large (`'x' * 5000`), is left to run time.
void leave_to_run_time(Unit& unit, NodeId node);

}  // namespace pellucid::verify::lower
