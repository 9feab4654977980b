// SPDX-License-Identifier: Apache-2.0
// pickle: the names of what loading imports and calls, and what calling them means.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "pickle/graph.h"

namespace pellucid::pickle {

// Returns the dotted name of a function, class or module: of an import, and of what getattr(),
// attrgetter(), __import__() and their relatives would return ("os.system"); empty if that cannot
// be known. Names of Python 2 become those of Python 3.
std::string path_of(const Graph& graph, ValueId id);

// Returns the last part of a dotted name.
std::string_view last_part(std::string_view path);

enum class Danger : uint8_t {
  None,     // makes plain values, or objects of well-known classes
  Unknown,  // what it does depends on a module that is not in the file
  Runs,     // runs code, or reaches something that can: eval, os.system, getattr, ...
};

struct Meaning {
  Danger danger = Danger::Unknown;
  std::string_view words;  // "runs a command"; empty for Unknown
};

// Returns what calling the function of this name means.
Meaning meaning_of(std::string_view path);

}  // namespace pellucid::pickle
