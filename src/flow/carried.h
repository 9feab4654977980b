// SPDX-License-Identifier: Apache-2.0
// flow: how many values blocks take over on the stack.
#pragma once

#include <optional>

#include "base/result.h"
#include "flow/graph.h"

namespace pellucid::flow {

// Every block takes every value on the stack over from the blocks before it. Compilers of 3.8 and
// 3.9 hold all elements of a display there, which may be some thousands; no code needs more than
// this, which would take the square of its size. Returns the error if a graph has more, for whoever
// keeps something for each of these values.
std::optional<Error> carried_too_much(const Graph& graph);

}  // namespace pellucid::flow
