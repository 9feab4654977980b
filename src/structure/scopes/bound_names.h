// SPDX-License-Identifier: Apache-2.0
// The names that some scope of a module may bind, so that they need not mean the builtins.
#pragma once

#include <string_view>
#include <unordered_set>

#include "object/code.h"

namespace pellucid::structure {

// Of the code objects as they were read; collected when a name is first asked for.
class BoundNames {
 public:
  explicit BoundNames(const object::Module& module) : module_(module) {}

  bool has(std::string_view name);

 private:
  const object::Module& module_;
  bool is_known_ = false;
  std::unordered_set<Symbol> names_;
};

}  // namespace pellucid::structure
