// SPDX-License-Identifier: Apache-2.0
// pickle: what APPEND, SETITEM, ADDITEMS and BUILD do to a value: to a list, a dict or a set what
// they would, and to an object a change that is listed. Private to the machine.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "pickle/graph.h"
#include "pickle/stack.h"

namespace pellucid::pickle {

using Failure = std::optional<Error>;

// Returns true for what was imported or made by a call: it may be of any type.
bool is_object(const Graph& graph, ValueId id);

// Returns true if each item, or each second, may be a key.
bool are_hashable(const Graph& graph, const Items& items, size_t step);

class Changes {
 public:
  // `steps` counts the places that are passed to find items of lists.
  Changes(Graph& graph, uint64_t& steps) : graph_(graph), steps_(steps) {}

  // `at` is the offset of the opcode.
  Failure append(ValueId target, const Items& items, uint64_t at);
  Failure add(ValueId target, const Items& items, uint64_t at);
  Failure store(ValueId target, const Items& items, uint64_t at);

  // Adds a change and its effect.
  void record(ValueId target, Kind change, const Items& items, uint64_t at);

 private:
  Failure store_in_list(ValueId list, const Items& items, uint64_t at);

  Graph& graph_;
  uint64_t& steps_;
};

}  // namespace pellucid::pickle
