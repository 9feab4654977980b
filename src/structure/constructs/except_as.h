// SPDX-License-Identifier: Apache-2.0
// Cleanup handlers: `except E as name` clears the name on every exit of the clause
// (compiler_try_except).
//
// Before: a handler around the clause clears the name and raises again; each other exit has a copy
// of the code that clears it.
// After: no such handler and no copies. A marker records where the clause ends.
#pragma once

#include <unordered_set>

#include "structure/graph/graph.h"
#include "structure/graph/protected_regions.h"

namespace pellucid::structure {

class NameCleanups {
 public:
  NameCleanups(Graph& graph, const object::Module& module, const Protection& protection);

  // Removes the code that clears the name of a clause without a region: `except E as name: pass`
  // (or a jump, or the return of a constant) protects nothing, and clears the name right after its
  // store.
  void drop_those_of_nothing();
  // Returns true if a handler is a cleanup handler: a `finally` in the source may do the same, but
  // its region does not start right after an exception was stored under the name.
  bool is_cleanup(HandlerId handler) const;
  // Removes the copies from all ways out of the handler's region.
  void clear(HandlerId handler);

 private:
  bool starts_with_name(BlockId block, Symbol name) const;
  void drop_cleanup_after(BlockId id, size_t i, Symbol name);
  void keep_end(HandlerId id);
  void note_end(BlockId clause, BlockId end);
  bool clears_name_before(BlockId block, BlockId end) const;
  BlockId return_before(BlockId block) const;
  void mark_end_of_clause(BlockId block, size_t index);

  Graph& g_;
  const object::Module& module_;
  const Protection& protection_;
  std::unordered_set<Symbol> caught_;  // names of exceptions
};

}  // namespace pellucid::structure
