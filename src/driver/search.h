// SPDX-License-Identifier: Apache-2.0
// driver: one text of a code object, and the search for the forms of its bodies that are proven.
#pragma once

#include <vector>

#include "driver/bodies.h"
#include "driver/pipeline.h"

namespace pellucid::driver {

// Returns the text in these forms, with its verdict if requested.
Output written(const Request& request, const Forms& forms);

// Returns the text in forms that are all proven, if there are any: an unproven code object is tried
// in the next form, up to the last. Code that no form proves stays in its first form, which reads
// best; so does everything if the search proves no more. Code objects in `as_is`, by id, keep their
// form.
Output search(const Request& request, Forms forms, const std::vector<bool>& as_is);

}  // namespace pellucid::driver
