// SPDX-License-Identifier: Apache-2.0
// object: validation of modules from outside. Every new Module is admitted, in every build, before
// anything else reads it.
//
// From then on every layer may use the ids, counts and indices of a Module unchecked; those in the
// bytes of its code objects are checked when these are decoded.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "object/code.h"

namespace pellucid::object {

// Checks the whole module once. A code object with inconsistent parts loses its contents and gets a
// reason (Code::fault), so that the others stay usable. Returns a fault of the module as a whole:
// an unsupported version, ids out of range, cyclic constants, other initial constants than those of
// new_module().
std::optional<Error> admit(Module& module);

// Return the fault of a module as a whole, or of a code object with inconsistent parts; "" if there
// is none.
std::string find_fault(const Module& module);
std::string find_fault(const Module& module, const Code& code);

}  // namespace pellucid::object
