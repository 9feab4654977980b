// SPDX-License-Identifier: Apache-2.0
// flow: uses of an iterator of 3.15 other than by a loop.
#pragma once

#include <optional>

#include "base/result.h"
#include "flow/graph.h"

namespace pellucid::flow {

// Returns where such a use may occur, if anywhere. In 3.15 the iterator of a list, a tuple, a
// string or bytes is the object itself, with a count in the slot above. Loops, `yield from` and
// drops cannot tell; any other use sees a value that no expression of Python evaluates to.
std::optional<Error> find_shown_iterator(const Graph& graph);

}  // namespace pellucid::flow
