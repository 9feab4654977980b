// SPDX-License-Identifier: Apache-2.0
// One item after the other, each value under a name: makes no assumptions about compilers.
#pragma once

#include "fallback/state_machine.h"

namespace pellucid::fallback {

// Writes the items of a block, where items() cannot.
void plain(Machine& machine, BlockId id, Statements& code);

}  // namespace pellucid::fallback
