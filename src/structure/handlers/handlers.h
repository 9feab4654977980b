// SPDX-License-Identifier: Apache-2.0
// Handlers: what each handler region means, and the code that repeats it taken away.
//
// Compilers copy the body of a `finally` to every normal way out of the `try`, and the call of
// __exit__ to every way out of a `with`. Once the copies are recognised and gone, a marker (an item
// PopExcept) stands where control left the protected region, and Graph::handlers says what the
// handler is. Regions that the compiler made for its own ends dissolve.
#pragma once

#include "structure/graph/graph.h"

namespace pellucid::structure {

void fold_handlers(Graph& graph, const object::Module& module);

}  // namespace pellucid::structure
