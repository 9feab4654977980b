// SPDX-License-Identifier: Apache-2.0
// cli: `pellucid inspect`: what loading the pickles of an input would do.
#pragma once

#include <functional>
#include <string>

#include "pellucid/result.h"

namespace pellucid::cli {

// Prints the pickles of a file, or of the files in a folder, by `put`, which returns false if
// nobody reads. Returns their number.
Result<size_t> list_loads(const std::string& input, bool as_json,
                          const std::function<bool(const std::string&)>& put);

}  // namespace pellucid::cli
