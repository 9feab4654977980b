// SPDX-License-Identifier: Apache-2.0
// pickle: the values of a code object, written as marshal writes them.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "pickle/constructor.h"
#include "pickle/graph.h"

namespace pellucid::pickle {

// The code objects of a graph, by the calls that make them.
using CodeCalls = std::unordered_map<uint32_t, CodeParts>;

// Texts that are written for objects that marshal has no bytes for, by their values.
using StandIns = std::unordered_map<uint32_t, std::string>;

// Returns the marshalled code object of a call, without a header: at most `limit` bytes. What is
// used several times is written once and referred to, so the size is linear in that of the graph.
Result<std::vector<uint8_t>> marshalled(Graph& graph, const CodeCalls& codes, ValueId call,
                                        size_t limit, const StandIns& stand_ins);

}  // namespace pellucid::pickle
