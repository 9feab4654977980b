// Patterns and `match` statements as nodes of the tree.
#include "structure/emit.h"

namespace pellucid::structure {

using ast::ListId;
using ast::NodeId;

NodeId Statements::pattern(PatternId id) {
  if (!id.valid()) return c_.tree.add(ast::MatchAs{});
  const Pattern pattern = c_.graph.patterns[id.index()];
  const ast::Where at;
  const Symbol name = pattern.name;
  if (pattern.kind == PatternKind::Any) return c_.tree.add(ast::MatchAs{NodeId(), name}, at);
  const NodeId node = pattern_of(pattern, at);
  return name.valid() ? c_.tree.add(ast::MatchAs{node, name}, at) : node;
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
           std::vector<object::ConstId>(tree.module()[p.names].items)) {
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

// A case, and those behind it: they are in its `else` and go on with its subject.
BlockId Emitter::match(BlockId block, NodeId first, const Scope& scope, Statements& out,
                       bool& falls) {
  const ir::Block b = graph_[block];
  const ast::Where at = exit_where(block);
  if (out.hard_pending() > 0) fail("a match statement inside an expression", block);
  const BlockId meet = meeting_point(block, scope);
  Scope inner = scope;
  if (meet.valid()) inner.follow = meet;
  const auto arm = [&](uint8_t edge, bool& arm_falls) {
    Statements statements(context_);
    arm_falls = emit(b.next[edge].to, inner, statements);
    return statements.take_list();
  };
  bool body_falls = false, else_falls = false;
  ast::match_case one = tree_.as<ast::match_case>(first);
  std::vector<NodeId> body = arm(0, body_falls);
  std::vector<NodeId> cases{first};
  std::vector<NodeId> rest = arm(1, else_falls);
  bool shared = false;  // the other cases go on with what is left of `rest`
  if (!rest.empty() && ladders_.count(rest[0])) {
    const auto others = tree_.items(tree_.as<ast::Match>(rest[0]).cases);
    cases.insert(cases.end(), others.begin(), others.end());
    ladders_.erase(rest[0]);
    rest.erase(rest.begin());
    shared = !rest.empty();
  }
  if (shared && body_falls) {
    if (!scope.loop || inner.follow != scope.loop->header)
      fail("a case that ends elsewhere", block);
    body.push_back(tree_.add(ast::Continue{}, at));
    body_falls = false;
  }
  one.body = tree_.list(body);
  tree_.set(first, one);
  if (!rest.empty() && body_falls) {
    const NodeId any = tree_.add(ast::MatchAs{}, at);
    cases.push_back(tree_.add(ast::match_case{any, NodeId(), tree_.list(rest)}, at));
    rest.clear();
  }
  const auto subject = context_.subjects.find(first);
  const NodeId of = subject == context_.subjects.end() ? NodeId() : subject->second;
  const NodeId node = tree_.add(ast::Match{of, tree_.list(cases)}, at);
  if (!of.valid()) ladders_.insert(node);
  out.append(node);
  for (const NodeId statement : rest) out.append(statement);
  if (meet.valid() && (body_falls || else_falls)) return meet;
  falls = body_falls || else_falls;
  return {};
}

}  // namespace pellucid::structure
