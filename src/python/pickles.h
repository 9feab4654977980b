// SPDX-License-Identifier: Apache-2.0
// python: the values of a pickle, which is not loaded.
#pragma once

#include "python/boundary.h"

namespace pellucid::python {

// Adds Pickle to the module.
void add_pickles(nanobind::module_& m);

}  // namespace pellucid::python
