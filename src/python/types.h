// SPDX-License-Identifier: Apache-2.0
// python: what the stable ABI has no words for. The wheel for 3.12 and later is built with it, so
// what it runs on is known at run time alone.
#pragma once

#include <nanobind/nanobind.h>

#include "object/code.h"

namespace pellucid::python {

// Called once, when the module is imported.
void find_types();

// Returns true if `object` is a types.CodeType. That type has no subclasses.
bool is_code(nanobind::handle object);

// Returns true if `object` is a types.FunctionType. That type has no subclasses either.
bool is_function(nanobind::handle object);

// The version of the interpreter that runs this.
object::Version running_version();

}  // namespace pellucid::python
