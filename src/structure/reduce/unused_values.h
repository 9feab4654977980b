// SPDX-License-Identifier: Apache-2.0
// Drops: values of the stack that only go, and say nothing in the text.
#pragma once

#include "structure/graph/graph.h"

namespace pellucid::structure {

// Drops parameters that are only popped, where every value that they stand for is used elsewhere:
// the right side of a comparison that ended a chain.
void drop_popped_params(Graph& graph);

// Once endings are joined: a value from another block that is dropped is nothing in the text, but
// for a constant.
void forget_carried(Graph& graph);

}  // namespace pellucid::structure
