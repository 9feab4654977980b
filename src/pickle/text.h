// SPDX-License-Identifier: Apache-2.0
// pickle: values and effects in words, and the text form of a graph.
#pragma once

#include <string>

#include "pickle/graph.h"
#include "pickle/names.h"

namespace pellucid::pickle {

// Returns a value in Python's notation, always ASCII, cut after about `most` characters.
std::string repr(const Graph& graph, ValueId id, size_t most = 200);

// Returns "0x1c".
std::string hex_text(uint64_t number);

// One line of what loading would do.
struct Act {
  uint64_t offset = 0;  // of the opcode
  std::string kind;     // "import", "call", "state", "append", "store", "add", ...
  std::string name;     // the dotted name of what is imported or called; empty if unknown
  std::string text;     // "imports os.system", "calls os.system('id')"
  Danger danger = Danger::Unknown;
  std::string why;  // "runs a command"; empty if Unknown
};

Act act_of(const Graph& graph, const Effect& effect);

// Returns the deterministic text of a graph: one line per value, then what loading would do.
std::string dump(const Graph& graph);

}  // namespace pellucid::pickle
