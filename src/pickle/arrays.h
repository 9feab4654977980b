// SPDX-License-Identifier: Apache-2.0
// pickle: the arrays that joblib writes into the stream of a pickle, behind the NumpyArrayWrapper
// that describes each.
#pragma once

#include <cstdint>
#include <optional>

#include "pickle/graph.h"

namespace pellucid::pickle {

struct ArrayShape {
  uint64_t size = 0;           // bytes, unless it holds objects
  bool holds_objects = false;  // a pickle of them follows
  bool is_aligned = false;     // padding comes first: its length in one byte, then that many
};

// Returns what follows the BUILD of this object, if it describes an array.
std::optional<ArrayShape> array_of(const Graph& graph, ValueId wrapper, ValueId state);

}  // namespace pellucid::pickle
