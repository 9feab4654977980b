// SPDX-License-Identifier: Apache-2.0
// Patterns that CPython refuses to compile: there is no code that their text could be proven to
// mean.
#include <initializer_list>
#include <string>

#include "print/trees.h"
#include "testing.h"
#include "verify/lower/lower.h"

namespace pellucid {
namespace {

using ast::NodeId;

struct Cases : print::TreeMaker {
  Cases() { module.version = {3, 12}; }

  NodeId capture(std::string_view name) {
    return tree.add(ast::MatchAs{NodeId(), name.empty() ? Symbol() : tree.intern(name)});
  }
  NodeId value(int64_t number) { return tree.add(ast::MatchValue{integer(number)}); }
  NodeId singleton(object::ConstKind kind) {
    object::Const constant;
    constant.kind = kind;
    return tree.add(ast::MatchSingleton{module.add(constant)});
  }
  NodeId either(std::vector<NodeId> patterns) {
    return tree.add(ast::MatchOr{tree.list(std::move(patterns))});
  }
  NodeId pair(NodeId a, NodeId b) { return tree.add(ast::MatchSequence{tree.list({a, b})}); }
  NodeId one(NodeId pattern, NodeId guard = {}) {
    return tree.add(ast::match_case{pattern, guard, tree.list({tree.add(ast::Pass{})})});
  }

  // What the module `match x:` with these cases cannot be compiled for; empty: it can.
  std::string problem(std::vector<NodeId> cases) {
    const NodeId match = tree.add(ast::Match{name("x"), tree.list(std::move(cases))});
    const NodeId root = tree.add(ast::Module{tree.list({match})});
    return verify::relower(tree, root).problems.at(0);
  }
};

TEST("a name that a pattern binds twice is not lowered") {
  Cases c;
  EXPECT_EQ(c.problem({c.one(c.pair(c.capture("a"), c.capture("a")))}),
            std::string("relowering: a pattern that binds a name twice"));
  Cases other;
  EXPECT_EQ(other.problem({other.one(other.pair(other.capture("a"), other.capture("b")))}),
            std::string());
  // Each alternative binds the same names, once; so does each case.
  Cases same;
  const NodeId alternatives = same.either(
      {same.pair(same.capture("a"), same.value(1)), same.pair(same.value(2), same.capture("a"))});
  EXPECT_EQ(same.problem({same.one(alternatives), same.one(same.capture("a"))}), std::string());
}

TEST("a pattern that makes those after it unreachable is not lowered") {
  const std::string hides = "relowering: a pattern that makes those after it unreachable";
  for (const char* name : {"", "a"}) {
    Cases in_front;
    EXPECT_EQ(
        in_front.problem({in_front.one(in_front.capture(name)), in_front.one(in_front.value(1))}),
        hides);
    // A guard may send control on to the next case.
    Cases guarded;
    EXPECT_EQ(guarded.problem({guarded.one(guarded.capture(name), guarded.name("b")),
                               guarded.one(guarded.value(1))}),
              std::string());
  }
  Cases alternatives;
  EXPECT_EQ(alternatives.problem({alternatives.one(
                alternatives.either({alternatives.capture(""), alternatives.value(1)}))}),
            hides);
  Cases last;
  EXPECT_EQ(last.problem({last.one(last.either({last.value(1), last.capture("")}))}),
            std::string());
  // A part of a pattern may take anything: its whole does not.
  Cases part;
  EXPECT_EQ(part.problem({part.one(part.pair(part.capture(""), part.capture("a"))),
                          part.one(part.value(1))}),
            std::string());
}

TEST("a pattern that tests the identity of no singleton is not lowered") {
  // `case 0` and `case 'a'` compare, and `case ...` is no syntax.
  for (const object::ConstKind kind : {object::ConstKind::Int, object::ConstKind::Str,
                                       object::ConstKind::Ellipsis, object::ConstKind::Tuple}) {
    Cases c;
    EXPECT_EQ(c.problem({c.one(c.singleton(kind))}),
              std::string("relowering: a pattern tests the identity of what it cannot say"));
  }
  for (const object::ConstKind kind :
       {object::ConstKind::None, object::ConstKind::True, object::ConstKind::False}) {
    Cases c;
    EXPECT_EQ(c.problem({c.one(c.singleton(kind))}), std::string());
  }
}

}  // namespace
}  // namespace pellucid
