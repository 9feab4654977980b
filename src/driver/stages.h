// SPDX-License-Identifier: Apache-2.0
// driver: the stages of each code object by itself, as text.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "driver/pipeline.h"
#include "flow/graphs.h"
#include "object/code.h"

namespace pellucid::driver {

// Returns the text of "raw", "stream", "flow", "ir" or "dis" of these code objects. Code that
// cannot be listed is marked, with a diagnostic in `told`.
Result<std::string> list_codes(flow::Graphs& graphs, const std::vector<object::CodeId>& codes,
                               const std::string& stage, std::vector<Diagnostic>& told);

}  // namespace pellucid::driver
