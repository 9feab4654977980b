// SPDX-License-Identifier: Apache-2.0
// Drops: removes stack values that are popped without being used, so that they do not become
// expression statements.
#pragma once

#include "structure/graph/graph.h"

namespace pellucid::structure {

// Removes parameters that are only popped, if every value that they stand for has another use: the
// right operand of a comparison that ended a chain.
void drop_popped_params(Graph& graph);

// After endings are joined: removes the Pop of a value from another block, except of a constant.
void forget_carried(Graph& graph);

}  // namespace pellucid::structure
