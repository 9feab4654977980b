// SPDX-License-Identifier: Apache-2.0
// Functions that have not escaped from the frame.
//
// Making a function runs no user code and cannot fail, and nothing observes the function until it
// escapes. So it is a container (state.h) of the values it was made from; each execution makes a
// new object. What can be observed later is what it took from the globals when it was made, its
// __module__ and its builtins: loads of variables and of globals do not change these, any other
// effect may rebind them. (So may the load of a name in a class, whose metaclass may have given it
// any mapping.) So at such an effect the functions of both sides are unified.
#pragma once

#include "verify/machine/machine.h"

namespace pellucid::verify {

// Returns true if the effect cannot rebind the globals that a function takes when it is made.
bool passes_functions(const Effect& effect);

// Unifies two values of the frames. The contents of a container are lost by that; for a function,
// the cells that it refers to stay known.
bool make_one(Context& context, State& state, Value x, Value y, CodePairs& pairs);

// Unifies the functions of A and B that were made from the same values, in the order of
// settle_heap(). Gives up the remaining ones if `all`, that is, if each must have a counterpart.
void settle_functions(Context& context, State& state, bool all, CodePairs& pairs);

}  // namespace pellucid::verify
