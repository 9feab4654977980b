// SPDX-License-Identifier: Apache-2.0
// Locals that a generator made for itself -> the values that they hold.
#pragma once

#include <unordered_set>

#include "ir/function.h"

namespace pellucid::ir {

// Stores, loads and deletions of `names` go wherever each load finds the value of one store on
// every path; the uses of values are counted anew.
void promote_temporaries(Function& function, const std::unordered_set<Symbol>& names);

}  // namespace pellucid::ir
