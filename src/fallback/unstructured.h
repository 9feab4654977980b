// SPDX-License-Identifier: Apache-2.0
// fallback::unstructured: any code object -> a body without structure that does the same.
//
// The last resort, for any control flow: irreducible, with regions that overlap, with values left
// on the stack. The body is a loop over a state; each state is a block, or a tree of blocks that
// only lead to one another, and ends by setting the next state:
//
//   state = 3
//   while True:
//       try:
//           if state == 3: ...
//               state = 5
//           elif state == 4: ...
//       except BaseException as exception:
//           if state < 4:           # the handler of states 3 and below
//               stack_0 = exception
//               state = 7
//           else:
//               raise
//           while True:             # the blocks that run while this exception is being handled
//               if state == 7: ...
//               else: break
//
//   * A stack slot that outlives a block is a variable. All of them are set at the start of every
//     block; a block sets those that it changes at its end, so a handler finds the values that the
//     block that raised began with.
//   * The handler of a block follows from the state at the time of the exception.
//   * Code that handles an exception runs in an except clause, so that sys.exc_info(), a bare raise
//     and __context__ are as before: in a loop within the clause, one for each level. An exit
//     from the clause is a state of an outer level. An exception for an outer handler is taken out
//     of the clause and raised again there.
//
// Nothing here depends on the steps that recover structure.
#pragma once

#include <string>
#include <vector>

#include "ast/tree.h"
#include "base/result.h"
#include "ir/function.h"
#include "structure/scopes/bound_names.h"

namespace pellucid::fallback {

// `function` is made by ir::lift_slots; `bound`: the names of its module. `reason` and `offset`:
// why no structure was found, and where.
Result<ast::ListId> unstructured(const ir::Function& function, ast::Tree& tree,
                                 std::vector<ast::ListId>& bodies, structure::BoundNames& bound,
                                 const std::string& reason, uint32_t offset);

}  // namespace pellucid::fallback
