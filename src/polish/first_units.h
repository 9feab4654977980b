// SPDX-License-Identifier: Apache-2.0
// polish: the first code unit of each statement of a body, for walks that ask for it at every level
// of nesting.
#pragma once

#include <span>
#include <unordered_map>

#include "polish/starts.h"

namespace pellucid::polish {

// Remembers what is in a statement, so that one in another is looked at once, however deep it is.
// What is asked of may change only in what is around it: outer statements are asked of before they
// change, and inner ones after them.
class FirstUnits {
 public:
  FirstUnits(const ast::Tree& tree, const Starts& starts) : tree_(tree), starts_(starts) {}

  // Returns the first code unit of the nodes of statements that have one; kNoUnit: none has.
  uint32_t of(std::span<const ast::NodeId> statements);
  uint32_t of(ast::NodeId statement) { return of({&statement, 1}); }

 private:
  void find(ast::NodeId holder);
  uint32_t of_head(ast::NodeId holder) const;
  uint32_t of_known(ast::NodeId statement) const;

  const ast::Tree& tree_;
  const Starts& starts_;
  std::unordered_map<ast::NodeId, uint32_t> known_;  // of statements and clauses with lists
};

}  // namespace pellucid::polish
