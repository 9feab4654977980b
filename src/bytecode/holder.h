// SPDX-License-Identifier: Apache-2.0
// bytecode: makes a module around a code object that is not a module.
//
// Code dumped from memory, or found in a constant, may be a single function, class body, lambda or
// comprehension. The module made here has the instructions that define it, nested in the classes
// and functions of its qualified name, with its free variables bound there. So all later steps see
// a module, and the text has `def`, `class`, `lambda` or `[... for ...]`. What the code object does
// not contain (defaults, decorators, bases, the iterable of a comprehension) is missing.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "object/code.h"

namespace pellucid::bytecode {

// Makes a new root around the root of `module` unless that is a module; `module.held` is the
// original root. Returns its description ("the function Shape.area"), or "" for a module.
std::string hold(object::Module& module);

// Returns the names of the code objects around `module.held`, outermost first, and its own; none
// for a module.
std::vector<std::string_view> path_of_held(const object::Module& module);

// Returns the code objects nested in one of a module.
using Nested = std::function<std::vector<object::CodeId>(object::CodeId)>;

// Returns the code object of `other`, the recompiled text of `module`, at the place of
// `module.held` in `module`; invalid if there is none.
object::CodeId counterpart(const object::Module& module, const object::Module& other,
                           const Nested& nested);

// Returns a Nested that uses the constants of each code object.
Nested nested_in(const object::Module& module);

}  // namespace pellucid::bytecode
