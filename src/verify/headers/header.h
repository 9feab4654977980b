// SPDX-License-Identifier: Apache-2.0
// verify's first question: do two code objects agree in everything but their instructions?
#pragma once

#include <string>

#include "verify/domain/values.h"

namespace pellucid::verify {

// What the names and flags of a pair are held to.
struct HeaderRules {
  bool ignore_nested_flag = false;
  bool ignore_future_flags = false;
  bool ignore_name = false;
  bool ignore_qualname = false;
  bool moved = false;  // nested in roots whose qualified names may differ
};

// What differs, or nothing.
std::string header_difference(Values& values, object::CodeId a, object::CodeId b,
                              const HeaderRules& rules);

}  // namespace pellucid::verify
