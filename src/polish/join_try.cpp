// SPDX-License-Identifier: Apache-2.0
// The compiler splits a `try` with both `except` and `finally` into two nested ones.
#include "polish/rewrites.h"

namespace pellucid::polish {

using ast::Kind;

void join_try(ast::Tree& tree, Statements& body, Outline& outline, const Starts& starts) {
  for_each_list(tree, body, outline, {Kind::Try}, [&](Statements& items) {
    for (const ast::NodeId item : items) {
      if (!tree.is(item, Kind::Try)) continue;
      const auto outer = tree.as<ast::Try>(item);
      const auto inside = tree.items(outer.body);
      if (!tree.items(outer.handlers).empty() || inside.size() != 1 ||
          !tree.is(inside[0], Kind::Try)) {
        continue;
      }
      auto whole = tree.as<ast::Try>(inside[0]);
      if (!tree.items(whole.finalbody).empty() || starts.is_nested_try(item)) continue;
      whole.finalbody = outer.finalbody;
      tree.set(item, whole);
    }
  });
}

}  // namespace pellucid::polish
