// SPDX-License-Identifier: Apache-2.0
// The first check: do two code objects agree in everything except their instructions?
#pragma once

#include <string>

#include "verify/domain/values.h"

namespace pellucid::verify {

// Which differences of names and flags are accepted.
struct HeaderRules {
  bool ignore_nested_flag = false;
  bool ignore_future_flags = false;
  bool ignore_name = false;
  bool ignore_qualname = false;
  bool moved = false;  // nested in roots whose qualified names may differ
};

// Returns the first difference; empty if there is none.
std::string header_difference(Values& values, object::CodeId a, object::CodeId b,
                              const HeaderRules& rules);

}  // namespace pellucid::verify
