// SPDX-License-Identifier: Apache-2.0
// object: the border. Whoever makes a Module of what comes from outside has it admitted, in every
// build, before anything else reads it.
//
// From then on every layer may use the ids, counts and indices of a Module as they are: those that
// lie in the bytes of its code objects are looked at where these are decoded.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "object/code.h"

namespace pellucid::object {

// Looks at everything in the module once. A code object whose parts do not agree loses all that
// could mislead and says why (Code::fault), so that it costs nobody else anything. The result is
// what is wrong with the module as such: a version that nobody reads, ids out of range, constants
// that hold themselves, another start than that of new_module().
std::optional<Error> admit(Module& module);

// What is wrong with a module as such, and why the parts of a code object do not agree; or "".
std::string find_fault(const Module& module);
std::string find_fault(const Module& module, const Code& code);

}  // namespace pellucid::object
