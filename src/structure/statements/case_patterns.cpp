// SPDX-License-Identifier: Apache-2.0
// Patterns of `match` as nodes of the tree.
#include <algorithm>

#include "ast/nodes.h"
#include "structure/graph/not_structured.h"
#include "structure/statements/statements.h"

namespace pellucid::structure {

using ast::NodeId;

NodeId Statements::pattern(PatternId id) {
  if (!id.valid()) return c_.tree.add(ast::MatchAs{});
  const Pattern pattern = c_.graph.patterns[id.index()];
  ast::Where at;
  at.line = pattern.line;
  std::span<const Symbol> names = pattern.names;
  NodeId node;
  if (pattern.kind == PatternKind::Any && pattern.is_spelt) {
    node = c_.tree.add(ast::MatchAs{}, at);
  } else if (pattern.kind == PatternKind::Any) {
    node = c_.tree.add(ast::MatchAs{NodeId(), names.empty() ? Symbol() : names[0]}, at);
    if (!names.empty()) names = names.subspan(1);
  } else {
    node = pattern_of(pattern, at);
  }
  for (const Symbol name : names) node = c_.tree.add(ast::MatchAs{node, name}, at);
  return node;
}

// Nesting is as deep as the source's, which the compiler's own parser bounds.
NodeId Statements::pattern_of(const Pattern& p, ast::Where at) {
  ast::Tree& tree = c_.tree;
  std::vector<NodeId> subs;
  for (const PatternId sub : p.subs) subs.push_back(pattern(sub));
  const auto starred = [&](NodeId node) {
    const Symbol name =
        tree.is(node, ast::Kind::MatchAs) ? tree.as<ast::MatchAs>(node).name : Symbol();
    return tree.add(ast::MatchStar{name}, at);
  };
  switch (p.kind) {
    case PatternKind::Any:
      break;
    case PatternKind::Value:
      return tree.add(ast::MatchValue{part(p.value, {})}, at);
    case PatternKind::Singleton: {
      const NodeId node = p.value.items.empty() ? none_node(tree, at) : part(p.value, {});
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
        const NodeId node = part(p.value, {});
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
      return tree.add(
          ast::MatchClass{part(p.value, {}), tree.list(first), tree.list(names), tree.list(second)},
          at);
    }
    case PatternKind::Or:
      return tree.add(ast::MatchOr{tree.list(subs)}, at);
  }
  throw NotStructured("a pattern of unknown form", 0);
}

}  // namespace pellucid::structure
