// SPDX-License-Identifier: Apache-2.0
// The states and their order: those of one level, and of one handler, are consecutive, so that one
// or two comparisons find the handler of an exception.
#pragma once

#include "fallback/state_machine.h"

namespace pellucid::fallback {

// Makes the states.
void plan(Machine& machine);

}  // namespace pellucid::fallback
