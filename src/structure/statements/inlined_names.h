// SPDX-License-Identifier: Apache-2.0
// structure: the names that an inlined comprehension (3.12+) hides from the scope around it, by its
// text.
//
// The compiler hides the names that the comprehension binds, and those that comprehensions in it
// bind and it does not mention itself; directly in a class, all names that it mentions (and its
// argument, `.0`). Dead code mentions and binds names like other code.
#pragma once

#include <unordered_set>
#include <vector>

#include "ast/tree.h"
#include "base/rare.h"

namespace pellucid::structure {

class InlinedNames {
 public:
  explicit InlinedNames(const ast::Tree& tree) : tree_(tree) {}

  struct Names {
    std::vector<Symbol> all;            // in the order in which the compiler meets them
    std::unordered_set<Symbol> bound;   // of these, the hidden ones
    std::unordered_set<Symbol> direct;  // of these, those not only of a comprehension in it
    std::unordered_set<Symbol> handed;  // mentioned by functions in it
    // Bound by a walrus: hidden if they are global, else not.
    std::unordered_set<Symbol> assigned;
  };

  // Returns the names of a list, set or dict comprehension. Those of comprehensions in it are
  // known, or no longer change.
  const Names& of(ast::NodeId comprehension);
  // Forgets the names of a comprehension that was changed.
  void forget(ast::NodeId comprehension) { known_.erase(comprehension); }

 private:
  Names read(ast::NodeId comprehension);

  const ast::Tree& tree_;
  RareMap<ast::NodeId, Names> known_;
};

}  // namespace pellucid::structure
