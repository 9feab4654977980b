// SPDX-License-Identifier: Apache-2.0
// flow: locals of inlined comprehensions (3.12+) whose name is a cell elsewhere in the function.
#pragma once

#include "flow/graph.h"

namespace pellucid::flow {

// A slot of 3.11+ holds a cell or a plain local, by the kind of its name; but a comprehension that
// is inlined clears the slot (LOAD_FAST_AND_CLEAR) and, if nothing in it closes over the name,
// keeps a plain local there until its handler or its end puts the cell back. What loads the slot in
// between loads that local: LoadClosure becomes LoadFast.
void read_inlined_locals(Graph& graph);

// Marks the Pops of what comprehensions have made for the annotation of something other than a name
// (kOfAnnotation). For 3.12, whose compiler drops nothing else before it puts the locals back: it
// exchanges instructions of one line only, and the Pop of a statement is on none by then.
void mark_annotations(Graph& graph);

// The locals of `stream` that its inlined comprehensions bind, and nothing else: functions within
// do not see them. Outside of where its handler hides the name, each comprehension stores to it
// once: to put back what it was. Also those that nothing in it mentions: comprehensions in dead
// code are inlined as well.
std::vector<Symbol> names_of_inlined(const object::Code& code, const bytecode::Stream& stream);

}  // namespace pellucid::flow
