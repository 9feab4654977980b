// SPDX-License-Identifier: Apache-2.0
// `del a, b` and `import a, b` compile to one statement for each name. Their common line
// distinguishes them from separate statements.
#include "polish/rewrites.h"

namespace pellucid::polish {

using ast::Kind;
using ast::NodeId;

namespace {

// Returns the names of a statement that can be joined to one of its kind; invalid for any other. A
// `from` import already holds all of its names.
ast::ListId names_of(const ast::Tree& tree, NodeId statement) {
  if (tree.is(statement, Kind::Delete)) return tree.as<ast::Delete>(statement).targets;
  if (tree.is(statement, Kind::Import)) return tree.as<ast::Import>(statement).names;
  return {};
}

uint32_t is_lazy(const ast::Tree& tree, NodeId statement) {
  return tree.is(statement, Kind::Import) ? tree.as<ast::Import>(statement).is_lazy : 0;
}

void set_names(ast::Tree& tree, NodeId statement, ast::ListId names) {
  if (tree.is(statement, Kind::Delete)) {
    tree.set(statement, ast::Delete{names});
  } else {
    tree.set(statement, ast::Import{names, is_lazy(tree, statement)});
  }
}

}  // namespace

void join_lines(ast::Tree& tree, Statements& body, Outline& outline) {
  for_each_list(tree, body, outline, {Kind::Delete, Kind::Import}, [&](Statements& items) {
    Statements kept;
    for (const NodeId item : items) {
      const int32_t line = tree.where(item).line;
      const ast::ListId names = names_of(tree, item);
      if (kept.empty() || !names.valid() || line < 0 || tree.kind(kept.back()) != tree.kind(item) ||
          is_lazy(tree, kept.back()) != is_lazy(tree, item) ||
          tree.where(kept.back()).line != line) {
        kept.push_back(item);
        continue;
      }
      ast::ListId all = names_of(tree, kept.back());
      for (const NodeId name : Statements(tree.items(names).begin(), tree.items(names).end())) {
        all = tree.append(all, name);
      }
      set_names(tree, kept.back(), all);
    }
    items = std::move(kept);
  });
}

}  // namespace pellucid::polish
