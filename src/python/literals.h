// SPDX-License-Identifier: Apache-2.0
// python: Python objects that one literal writes -> constants.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>

#include "object/code.h"

namespace pellucid::python {

// Adds the constant of a None, bool, Ellipsis, int, float, complex, str or bytes to a module;
// returns nothing for any other object, and for one of a subclass.
std::optional<object::ConstId> add_literal(object::Module& module, nanobind::handle value);

}  // namespace pellucid::python
