// SPDX-License-Identifier: Apache-2.0
#include "base/check.h"
#include "object/admit.h"
#include "object/code.h"

namespace pellucid::object {

void check(const Module& module) {
  PELLUCID_CHECK(find_fault(module).empty());
  for (const Code& code : module.codes) PELLUCID_CHECK(find_fault(module, code).empty());
}

}  // namespace pellucid::object
