// SPDX-License-Identifier: Apache-2.0
// `match` statements as nodes of the tree.
#include <algorithm>

#include "ast/nodes.h"
#include "structure/emit/emitter.h"

namespace pellucid::structure {

using ast::ListId;
using ast::NodeId;

bool Emitter::tests_case(BlockId block) const {
  const auto& items = graph_[block].items;
  return std::any_of(items.begin(), items.end(), [&](ValueId item) {
    const ir::Value& value = graph_[item];
    return value.kind == ValueKind::Region && graph_.regions[value.a].kind == RegionKind::Pattern;
  });
}

// Returns true if the block tests a case that goes on with the subject of those before it.
bool Emitter::is_next_case(BlockId block) const {
  if (!block.valid()) return false;
  const ir::Block& b = graph_[block];
  if (b.exit != ExitKind::Branch || b.items.empty()) return false;
  const ir::Value& value = graph_[b.items[0]];
  return value.kind == ValueKind::Region && value.count == 0 &&
         graph_.regions[value.a].kind == RegionKind::Pattern;
}

NodeId Emitter::next_case(BlockId block) {
  Statements test(context_);
  test.run(graph_[block].items);
  const NodeId node = test.take(graph_[block].operands[0]);
  if (!test.list().empty() || !tree_.is(node, ast::Kind::match_case))
    fail("a case with statements in its guard", block);
  return node;
}

// A case and those after it. Where all of them go on is where the first of them does that gets
// there at all.
BlockId Emitter::match(BlockId block, NodeId first, const Scope& scope, Statements& out,
                       bool& falls) {
  const ast::Where at = exit_where(block);
  if (out.hard_pending() > 0) fail("a match statement inside an expression", block);
  const auto subject = context_.subjects.find(first);
  if (subject == context_.subjects.end()) fail("a case without its match statement", block);
  const NodeId of = subject->second;
  std::vector<BlockId> tests{block};
  std::vector<NodeId> cases{first};
  for (BlockId next = graph_[block].next[1].to; is_next_case(next);
       next = graph_[next].next[1].to) {
    if (tests.size() > graph_.size()) fail("cases that go round in a circle", block);
    tests.push_back(next);
    cases.push_back(next_case(next));
  }
  BlockId meet;
  for (const BlockId test : tests) {
    const BlockId point = meeting_point(test, scope);
    // The body of a case whose guard never holds is the next case.
    if (!point.valid() || std::find(tests.begin(), tests.end(), point) != tests.end()) continue;
    if (!meet.valid() || only_returns(meet)) meet = point;
  }
  Scope inner = scope;
  if (meet.valid()) inner.follow = meet;
  const auto arm = [&](BlockId to, bool& arm_falls) {
    Statements statements(context_);
    arm_falls = emit(to, inner, statements);
    return statements.take_list();
  };
  bool bodies_fall = false, rest_falls = false;
  for (size_t i = 0; i < tests.size(); ++i) {
    const ir::Block b = graph_[tests[i]];
    ast::match_case one = tree_.as<ast::match_case>(cases[i]);
    if (i + 1 < tests.size() && b.next[0].to == b.next[1].to) {
      // The guard was constant, and the body is gone.
      one.guard = constant(object::ConstKind::False, at);
      one.body = tree_.list({});
    } else {
      bool body_falls = false;
      one.body = tree_.list(arm(b.next[0].to, body_falls));
      bodies_fall = bodies_fall || body_falls;
    }
    tree_.set(cases[i], one);
  }
  // The end of the body may have been copied to where the last case fails.
  const BlockId none = graph_[tests.back()].next[1].to;
  const bool ends = none.valid() && meet.valid() && same_return(none, meet);
  std::vector<NodeId> rest = arm(ends ? meet : none, rest_falls);
  // A last `case _ if guard` would keep no subject for itself: another one stood after it.
  const ast::match_case last = tree_.as<ast::match_case>(cases.back());
  const bool is_any = last.guard.valid() && tree_.is(last.pattern, ast::Kind::MatchAs) &&
                      !tree_.as<ast::MatchAs>(last.pattern).pattern.valid() &&
                      !tree_.as<ast::MatchAs>(last.pattern).name.valid();
  if (is_any || (!rest.empty() && bodies_fall)) {
    const NodeId any = tree_.add(ast::MatchAs{}, at);
    cases.push_back(tree_.add(ast::match_case{any, NodeId(), tree_.list(rest)}, at));
    rest.clear();
  }
  const NodeId guard = tree_.as<ast::match_case>(cases.back()).guard;
  if (guard.valid() && is_constant(tree_, guard, object::ConstKind::True)) {
    // It would be the last one, were there none after it.
    const NodeId nothing = none_node(tree_, at);
    const NodeId never = tree_.add(ast::MatchSingleton{tree_.as<ast::Constant>(nothing).value}, at);
    const ListId body = tree_.list({tree_.add(ast::Pass{}, at)});
    cases.push_back(tree_.add(ast::match_case{never, NodeId(), body}, at));
  }
  for (size_t i = 0; i + 1 < cases.size(); ++i) {
    const ast::match_case one = tree_.as<ast::match_case>(cases[i]);
    if (!one.guard.valid() && takes_everything(tree_, one.pattern)) {
      fail("a case that hides those behind it", i < tests.size() ? tests[i] : block);
    }
  }
  out.append(tree_.add(ast::Match{of, tree_.list(cases)}, at));
  for (const NodeId statement : rest) out.append(statement);
  if (meet.valid() && (bodies_fall || rest_falls)) return meet;
  falls = bodies_fall || rest_falls;
  return {};
}

}  // namespace pellucid::structure
