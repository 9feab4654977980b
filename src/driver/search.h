// SPDX-License-Identifier: Apache-2.0
// driver: one text of a code object, and the search for the forms of its bodies that are proven.
#pragma once

#include <vector>

#include "driver/bodies.h"
#include "driver/pipeline.h"

namespace pellucid::driver {

// Returns the text in these forms, with its verdict where that was asked for.
Output written(const Request& request, const Forms& forms);

// Returns the text in forms that are all proven, where there are any: a code object that is not is
// tried in the next form, up to the last. What none of them proves stays in the first, which reads
// best; so does everything if it is no better for all that. `as_is`, by id, stay in their form.
Output search(const Request& request, Forms forms, const std::vector<bool>& as_is);

}  // namespace pellucid::driver
