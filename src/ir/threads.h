// SPDX-License-Identifier: Apache-2.0
// ir::thread_branches: jump threading of branches in program-generated code that their predecessors
// decide.
//
//   t = None                                       if flag:
//   if flag:                                           exit(enter())
//       t = enter()                     ->         (loads)
//   (loads)
//   if t is not None:
//       exit(t)
//
// A block tests whether a temporary is None, and on every edge into it the value last stored is
// known to be None or not: each edge is threaded to the successor that its value selects. The other
// items of the block move to the merge point of the arms. They must be such that calls that stand
// apart (object/facts.h) may pass them, and the arms may have no other code than these calls.
#pragma once

#include <functional>
#include <unordered_set>

#include "ir/function.h"

namespace pellucid::ir {

struct ThreadRules {
  const std::unordered_set<Symbol>& temporaries;
  std::function<bool(ValueId)> is_object;     // a call that never returns None
  std::function<bool(ValueId)> stands_apart;  // a call that loads may pass
  std::function<bool(ValueId)> may_be_passed;
};

// Returns true if anything changed. The uses of values have to be recounted.
bool thread_branches(const object::Module& module, const ThreadRules& rules, Function& function);

// Removes parameters of blocks that are constants on every edge and are only dropped.
void drop_constant_parameters(Function& function);

}  // namespace pellucid::ir
