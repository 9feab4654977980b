// SPDX-License-Identifier: Apache-2.0
// What GET_ITER of 3.15 pushes is an iterator to loops alone.
#pragma once

#include <optional>

#include "base/result.h"
#include "flow/graph.h"

namespace pellucid::flow {

// 3.15 leaves a list, a tuple, a text and bytes as they are when it is asked for their iterator,
// and counts in the slot above. Loops, `yield from` and drops cannot tell; anything else sees what
// no expression of Python's stands for. Returns where something may, if anything does.
std::optional<Error> find_shown_iterator(const Graph& graph);

}  // namespace pellucid::flow
