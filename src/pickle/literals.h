// SPDX-License-Identifier: Apache-2.0
// pickle: the plain values that single opcodes make: numbers and texts. Private to the machine.
#pragma once

#include "base/result.h"
#include "pickle/graph.h"
#include "pickle/reader.h"

namespace pellucid::pickle {

Result<ValueId> literal_of(Graph& graph, Op op, const Argument& argument);

}  // namespace pellucid::pickle
