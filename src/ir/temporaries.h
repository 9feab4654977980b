// SPDX-License-Identifier: Apache-2.0
// Replaces locals that a generator made for itself by the values that they hold.
#pragma once

#include <unordered_set>

#include "ir/function.h"

namespace pellucid::ir {

// Removes the stores, loads and deletions of `names`, if each load finds the value of one store on
// every path; recounts the uses of values.
void promote_temporaries(Function& function, const std::unordered_set<Symbol>& names);

}  // namespace pellucid::ir
