// SPDX-License-Identifier: Apache-2.0
// pickle: the arguments of a code constructor, in the orders of CPython's versions and of dill, and
// the state of an object that has the attributes of a code object.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "pickle/graph.h"

namespace pellucid::pickle {

struct CodeParts {
  // argcount, posonlyargcount, kwonlyargcount, nlocals, stacksize, flags
  std::array<int32_t, 6> numbers{};
  int32_t firstlineno = 0;
  ValueId bytecode, consts, names, varnames, filename, name, qualname, linetable, exceptiontable;
  ValueId freevars, cellvars;
  bool is_since_311 = false;
  bool is_too_old = false;  // of CPython 3.7 or older; only the name is filled
};

// Returns the parts, if the call makes a code object or what becomes one.
std::optional<CodeParts> code_of_call(Graph& graph, ValueId call);

}  // namespace pellucid::pickle
