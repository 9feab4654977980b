// SPDX-License-Identifier: Apache-2.0
// driver: where code objects are, for people: "<module>/f/<lambda>".
#pragma once

#include <string>
#include <vector>

#include "object/code.h"

namespace pellucid::driver {

// Returns the path of every code object that was read, by its id. Code objects that were made to
// hold it (bytecode/holder.h) have none.
std::vector<std::string> paths_of(const object::Module& module);

}  // namespace pellucid::driver
