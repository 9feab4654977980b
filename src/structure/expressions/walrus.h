// SPDX-License-Identifier: Apache-2.0
// structure: assignments that were part of the expression after them.
#pragma once

#include <unordered_map>
#include <vector>

#include "ast/tree.h"

namespace pellucid::structure {

// Before: `x = v`, then an expression whose first action is to load x. After: `(x := v)` in place
// of that load. Planned first and applied later, so that nothing changes if the form turns out to
// be another.
class WalrusFold {
 public:
  explicit WalrusFold(const ast::Tree& tree) : tree_(tree) {}

  // Returns true if all of the assignments, in order, can go into `expression`.
  bool plan(const std::vector<ast::NodeId>& assignments, ast::NodeId expression);

  // Applies what was planned.
  void apply(ast::Tree& tree) const;

 private:
  ast::NodeId first_load(ast::NodeId expression, Symbol name) const;

  const ast::Tree& tree_;
  std::unordered_map<ast::NodeId, ast::NodeId> places_;  // load -> assignment
};

}  // namespace pellucid::structure
