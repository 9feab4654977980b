// SPDX-License-Identifier: Apache-2.0
// ir::thread_branches: branches of program-generated code that are decided where control comes
// from.
//
//   t = None                                       if flag:
//   if flag:                                           exit(enter())
//       t = enter()                     ->         (loads)
//   (loads)
//   if t is not None:
//       exit(t)
//
// A block that asks whether a temporary is None, where every way into it has stored one thing that
// is known to be None or not, asks nothing new: each way goes on to where the answer leads. What
// the block does besides moves after that, to where its ways meet again. It has to be what calls
// that stand apart (object/facts.h) may pass, and these calls are all that may lie in between.
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

// Returns whether anything changed. The uses of values are to be counted anew.
bool thread_branches(const object::Module& module, const ThreadRules& rules, Function& function);

// Takes away parameters of blocks that are constants on every way, and only dropped.
void drop_constant_parameters(Function& function);

}  // namespace pellucid::ir
