// SPDX-License-Identifier: Apache-2.0
#include "structure/scopes/bound_names.h"

namespace pellucid::structure {

bool BoundNames::has(std::string_view name) {
  if (!is_known_) {
    is_known_ = true;
    for (const object::Code& code : module_.codes) {
      for (const auto* names : {&code.varnames, &code.cellvars, &code.freevars}) {
        names_.insert(names->begin(), names->end());
      }
      const bool is_body = (code.flags & object::kOptimized) == 0;
      if (is_body) names_.insert(code.names.begin(), code.names.end());
    }
  }
  const Symbol symbol = module_.strings.find(name);
  return symbol.valid() && names_.count(symbol) > 0;
}

}  // namespace pellucid::structure
