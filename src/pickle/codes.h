// SPDX-License-Identifier: Apache-2.0
// pickle: the code objects of a graph.
//
// A code object is found by its form, whoever makes it: a call whose arguments are those of
// CPython's code constructor in 3.8 to 3.15 (types.CodeType, the functions of cloudpickle and dill,
// in their orders), an object with its attributes (torch's SerializedCode), or bytes that begin
// like marshalled code or a `.pyc`, also as base 64. Each becomes bytes that object::read_marshal
// reads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pickle/graph.h"
#include "pickle/marshal.h"

namespace pellucid::pickle {

// How the bytes of a code object are laid out.
enum class Layout : uint8_t {
  Until310,  // marshalled here, from the arguments of 3.8 to 3.10
  Since311,  // ... of 3.11 and newer
  AsFound,   // bytes of the pickle: marshalled code or a `.pyc`, or something else
};

struct FoundCode {
  std::string name;     // the qualified name of its function, or its own
  ValueId value;        // the call, or the bytes
  uint64_t offset = 0;  // in the input: of the call, or of the bytes
  Layout layout = Layout::AsFound;
  std::vector<uint8_t> bytes;
  std::string refusal;             // why there are no bytes; otherwise empty
  bool is_claimed = false;         // bytes that marshal.loads() gets
  bool is_nested = false;          // in the constants of another one, which contains its bytes
  std::vector<std::string> about;  // what surrounds the code: defaults, globals, ..., one line each
};

// Returns the code objects in the order of their places.
std::vector<FoundCode> codes_of(Graph& graph, const StandIns& stand_ins = {});

}  // namespace pellucid::pickle
