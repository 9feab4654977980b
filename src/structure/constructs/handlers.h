// SPDX-License-Identifier: Apache-2.0
// Handlers: finds the meaning of each handler, and removes the code that the compiler duplicated
// for it.
//
// Before: the body of a `finally` has a copy on every normal way out of the `try`, and the call of
// `__exit__` one on every way out of a `with` (compiler_try_finally, compiler_with,
// compiler_unwind_fblock).
// After: Graph::handlers has the kind of each handler. A marker (flow::Marker) replaces each copy,
// where control leaves the protected region; regions that only the compiler needs are dissolved.
#pragma once

#include "structure/graph/graph.h"

namespace pellucid::structure {

void fold_handlers(Graph& graph, const object::Module& module);

}  // namespace pellucid::structure
