// SPDX-License-Identifier: Apache-2.0
// The order of the slots of two frames: `locals()` lists variables in it, and a frame that ends
// releases them in it, the last first from 3.14 on.
#pragma once

#include <string>

#include "flow/graph.h"
#include "verify/domain/values.h"

namespace pellucid::verify {

// Returns the first two variables that differ in the orders of those that both code objects bind;
// empty if there are none.
std::string slot_difference(Values& values, const flow::Graph& a, const flow::Graph& b);

}  // namespace pellucid::verify
