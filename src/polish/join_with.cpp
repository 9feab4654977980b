// SPDX-License-Identifier: Apache-2.0
// `with a, b:` compiles to two nested statements; on one line they can only have been written that
// way.
#include "polish/rewrites.h"

namespace pellucid::polish {

using ast::Kind;

void join_with(ast::Tree& tree, Statements& body) {
  for_each_list(tree, body, [&](Statements& items) {
    for (const ast::NodeId item : items) {
      if (!tree.is(item, Kind::With)) continue;
      auto outer = tree.as<ast::With>(item);
      const auto inside = tree.items(outer.body);
      if (inside.size() != 1 || !tree.is(inside[0], Kind::With)) continue;
      const int32_t line = tree.where(item).line;
      if (line < 0 || tree.where(inside[0]).line != line) continue;
      const auto inner = tree.as<ast::With>(inside[0]);
      if (inner.is_async != outer.is_async) continue;
      for (const ast::NodeId manager :
           Statements(tree.items(inner.items).begin(), tree.items(inner.items).end())) {
        outer.items = tree.append(outer.items, manager);
      }
      outer.body = inner.body;
      tree.set(item, outer);
    }
  });
}

}  // namespace pellucid::polish
