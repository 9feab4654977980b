// SPDX-License-Identifier: Apache-2.0
// Patterns of `match` as nodes of the tree.
#include <algorithm>

#include "ast/nodes.h"
#include "structure/graph/not_structured.h"
#include "structure/statements/run.h"

namespace pellucid::structure {

using ast::NodeId;

namespace {

// Nesting is as deep as the source's, which the compiler's own parser bounds.
NodeId pattern_of(FunctionContext& c, const Pattern& p, ast::Where at) {
  ast::Tree& tree = c.tree;
  std::vector<NodeId> subs;
  for (const PatternId sub : p.subs) subs.push_back(pattern(c, sub));
  const auto starred = [&](NodeId node) {
    const Symbol name =
        tree.is(node, ast::Kind::MatchAs) ? tree.as<ast::MatchAs>(node).name : Symbol();
    return tree.add(ast::MatchStar{name}, at);
  };
  switch (p.kind) {
    case PatternKind::Any:
      break;
    case PatternKind::Value:
      return tree.add(ast::MatchValue{part_expression(c, p.value)}, at);
    case PatternKind::Singleton: {
      const NodeId node = p.value.items.empty() ? none_node(tree, at) : part_expression(c, p.value);
      if (!tree.is(node, ast::Kind::Constant)) break;
      return tree.add(ast::MatchSingleton{tree.as<ast::Constant>(node).value}, at);
    }
    case PatternKind::Sequence:
      if (p.star < subs.size()) {
        subs[p.star] = starred(subs[p.star]);
      } else if (p.open) {
        const size_t front = std::min(p.front, subs.size());
        subs.insert(subs.begin() + static_cast<ptrdiff_t>(front), tree.add(ast::MatchStar{}, at));
      }
      return tree.add(ast::MatchSequence{tree.list(subs)}, at);
    case PatternKind::Mapping: {
      std::vector<NodeId> keys;
      if (!p.value.items.empty()) {
        const NodeId node = part_expression(c, p.value);
        if (const object::Const* constant = constant_of(tree, node)) {
          for (const object::ConstId key : std::vector<object::ConstId>(constant->items)) {
            keys.push_back(tree.add(ast::Constant{key}, at));
          }
        } else if (tree.is(node, ast::Kind::Tuple)) {
          const auto elts = tree.items(tree.as<ast::Tuple>(node).elts);
          keys.assign(elts.begin(), elts.end());
        }
      }
      if (keys.size() != subs.size()) break;
      return tree.add(ast::MatchMapping{tree.list(keys), tree.list(subs), p.rest}, at);
    }
    case PatternKind::Class: {
      std::vector<NodeId> names;
      for (const object::ConstId name :
           std::vector<object::ConstId>(tree.module()[p.attributes].items)) {
        names.push_back(tree.add(ast::Name{tree.module()[name].text}, at));
      }
      if (p.positional + names.size() != subs.size()) break;
      const auto middle = subs.begin() + static_cast<ptrdiff_t>(p.positional);
      const std::vector<NodeId> first(subs.begin(), middle), second(middle, subs.end());
      return tree.add(ast::MatchClass{part_expression(c, p.value), tree.list(first),
                                      tree.list(names), tree.list(second)},
                      at);
    }
    case PatternKind::Or:
      return tree.add(ast::MatchOr{tree.list(subs)}, at);
  }
  throw NotStructured("a pattern of unknown form", 0);
}

}  // namespace

NodeId pattern(FunctionContext& c, PatternId id) {
  if (!id.valid()) return c.tree.add(ast::MatchAs{});
  const Pattern& p = c.graph.patterns[id.index()];
  ast::Where at;
  at.line = p.line;
  std::span<const Symbol> names = p.names;
  NodeId node;
  if (p.kind == PatternKind::Any && p.is_spelt) {
    node = c.tree.add(ast::MatchAs{}, at);
  } else if (p.kind == PatternKind::Any) {
    node = c.tree.add(ast::MatchAs{NodeId(), names.empty() ? Symbol() : names[0]}, at);
    if (!names.empty()) names = names.subspan(1);
  } else {
    node = pattern_of(c, p, at);
  }
  for (const Symbol name : names) node = c.tree.add(ast::MatchAs{node, name}, at);
  return node;
}

}  // namespace pellucid::structure
