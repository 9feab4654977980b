// SPDX-License-Identifier: Apache-2.0
// structure: which names an inlined comprehension (3.12+) hides from what holds it, by its text.
//
// The compiler hides what the comprehension binds, and what those in it bind that it does not
// mention itself; directly in a class, all that it mentions (and its argument, `.0`). Dead code
// mentions and binds no less than other code.
#pragma once

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ast/tree.h"

namespace pellucid::structure {

class InlinedNames {
 public:
  explicit InlinedNames(const ast::Tree& tree) : tree_(tree) {}

  struct Names {
    std::vector<Symbol> all;            // in the order in which the compiler meets them
    std::unordered_set<Symbol> bound;   // of these, what is hidden
    std::unordered_set<Symbol> direct;  // of these, what is not only of a comprehension in it
    std::unordered_set<Symbol> handed;  // to functions in it
    // By walrus: hidden where they are global, else not.
    std::unordered_set<Symbol> assigned;
  };

  // Of a list, set or dict comprehension; what stands in it has been asked for before, or does not
  // change any more.
  const Names& of(ast::NodeId comprehension);
  // The comprehension has been changed.
  void forget(ast::NodeId comprehension) { known_.erase(comprehension); }

 private:
  Names read(ast::NodeId comprehension);

  const ast::Tree& tree_;
  std::unordered_map<ast::NodeId, Names> known_;
};

}  // namespace pellucid::structure
