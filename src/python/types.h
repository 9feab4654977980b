// SPDX-License-Identifier: Apache-2.0
// python: type checks that the stable ABI lacks. The wheel for 3.12 and later is built with it, so
// the interpreter's version is known only at run time.
#pragma once

#include <nanobind/nanobind.h>

#include "object/code.h"

namespace pellucid::python {

// Finds the types; called once, when the module is imported.
void find_types();

// Returns true if `object` is a types.CodeType. That type has no subclasses.
bool is_code(nanobind::handle object);

// Returns true if `object` is a types.FunctionType. That type has no subclasses either.
bool is_function(nanobind::handle object);

// Returns the version of the running interpreter.
object::Version running_version();

}  // namespace pellucid::python
