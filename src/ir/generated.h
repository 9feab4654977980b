// SPDX-License-Identifier: Apache-2.0
// ir::settle_generated: what the facts about program-generated code (object/facts.h) make plain.
//
//   temporaries  become the values that they hold: a store, a load and a deletion leave no trace
//   steady       names are marked: loading one costs nothing and may happen where it is wanted
//   apart        calls move before the loads that they may pass, next to one another; so do
//                tests that their predecessors decide (threads.h)
//   makers       of functions, and who has these: arguments are not stored back where they are
//                (write_backs.h)
//   graphs       the items of a result are taken where the result is, several at once
//
// Nothing else moves. A temporary that a join or a handler gives several values stays a local.
#pragma once

#include "ir/function.h"
#include "object/facts.h"

namespace pellucid::ir {

void settle_generated(object::Module& module, const object::Facts& facts, Function& function);

// Marks as steady a list or tuple of nothing but steady values and constants, whose only use is in
// its block: it may be built there.
void mark_displays(Function& function);

}  // namespace pellucid::ir
