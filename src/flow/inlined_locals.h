// SPDX-License-Identifier: Apache-2.0
// flow: locals of inlined comprehensions (3.12+) whose name is a cell elsewhere in the function.
#pragma once

#include "flow/graph.h"

namespace pellucid::flow {

// A slot of 3.11+ holds a cell or a plain local, by the kind of its name; but an inlined
// comprehension clears the slot (LOAD_FAST_AND_CLEAR) and, if nothing in it closes over the name,
// keeps a plain local there until its handler or its end restores the cell. Loads of the slot in
// between load that local: LoadClosure becomes LoadFast.
void read_inlined_locals(Graph& graph);

// Marks the Pops of comprehensions' results in the annotation of something other than a name
// (kOfAnnotation). For 3.12, whose compiler drops nothing else before it restores the locals: it
// exchanges instructions of one line only (apply_static_swaps), and the Pop of a statement has no
// line by then.
void mark_annotations(Graph& graph);

// Returns the locals of `stream` that only its inlined comprehensions bind: nested functions do not
// see them. Outside of the range in which its handler hides the name, each comprehension stores to
// it once, to restore it. Includes names that no instruction mentions: comprehensions in dead code
// are inlined as well.
std::vector<Symbol> names_of_inlined(const object::Code& code, const bytecode::Stream& stream);

}  // namespace pellucid::flow
