// SPDX-License-Identifier: Apache-2.0
// Name clean-ups: `except E as name` clears the name on every way out of the clause.
//
// Around the clause stands a handler that clears the name and raises again, and each other way out
// has a copy of the clearing. None of it is written: here the copies go, and what they tell of
// where a clause ends is kept as a mark.
#pragma once

#include <unordered_set>

#include "structure/graph/graph.h"
#include "structure/graph/protected_regions.h"

namespace pellucid::structure {

class NameCleanups {
 public:
  NameCleanups(Graph& graph, const object::Module& module, const Protection& protection);

  // `except E as name: pass` (or a jump, or the return of a constant) protects nothing: there is no
  // region, but the name is cleared all the same, right after its store.
  void drop_those_of_nothing();
  // Returns true if a handler is of this kind: a `finally` that a person wrote may do the same, but
  // what it protects does not start right after an exception was given the name.
  bool is_cleanup(HandlerId handler) const;
  // Takes the copies out of all ways that leave the handler's region.
  void clear(HandlerId handler);

 private:
  bool starts_with_name(BlockId block, Symbol name) const;
  void drop_cleanup_behind(BlockId id, size_t i, Symbol name);
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
