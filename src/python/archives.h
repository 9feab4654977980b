// SPDX-License-Identifier: Apache-2.0
// python: the members of archives, and the compression that Python lends to their reader.
#pragma once

#include "python/boundary.h"

namespace pellucid::python {

// Adds Member and contents() to the module.
void add_archives(nanobind::module_& m);

}  // namespace pellucid::python
