// SPDX-License-Identifier: Apache-2.0
// bytecode: a module around a code object that is none.
//
// What was dumped from memory, or stands in a constant, may be the code of a function, a class
// body, a lambda or a comprehension by itself. The module that is made here has the instructions
// that would have made it what it is, in the classes and functions that its qualified name speaks
// of, with its free variables bound around it. So everything else sees a module, and the text says
// `def`, `class`, `lambda` or `[... for ...]`. What the code object does not know (defaults,
// decorators, bases, the iterable of a comprehension) is not in it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "object/code.h"

namespace pellucid::bytecode {

// Makes a new root around the root of `module` unless that is a module; `module.held` stays what
// was read. Returns what it is ("the function Shape.area"), or "" for a module.
std::string hold(object::Module& module);

// Says which code objects lie in another one of the other module.
using Nested = std::function<std::vector<object::CodeId>(object::CodeId)>;

// The code object of `other`, what `module` was decompiled to and compiled again, that lies where
// `module.held` lies in `module`; invalid if there is none.
object::CodeId counterpart(const object::Module& module, const object::Module& other,
                           const Nested& nested);

// By the constants of each code object.
Nested nested_in(const object::Module& module);

}  // namespace pellucid::bytecode
