// SPDX-License-Identifier: Apache-2.0
#include "ast/tree.h"

#include "testing.h"

namespace pellucid::ast {
namespace {

object::ConstId integer(object::Module& module, int64_t value) {
  object::Const constant;
  constant.kind = object::ConstKind::Int;
  constant.integer = value;
  return module.add(constant);
}

template <typename Body>
bool fails(Body body) {
  try {
    body();
  } catch (const InternalError&) {
    return true;
  }
  return false;
}

TEST("ast: a dump reads like Python's") {
  object::Module module;
  Tree tree(module);
  const NodeId name = tree.add(Name{tree.intern("x")});
  const NodeId one = tree.add(Constant{integer(module, 1)});
  const NodeId sum = tree.add(BinOp{name, static_cast<uint32_t>(Operator::Add), one});
  const NodeId back = tree.add(Return{sum});
  const NodeId root = tree.add(Module{tree.list({back, tree.add(Pass{})})});
  check(tree, root);
  EXPECT_EQ(dump(tree, root), R"(Module(
 body=[
  Return(
   value=BinOp(
    left=Name(id='x'),
    op=Add,
    right=Constant(value=1))),
  Pass()])
)");
}

TEST("ast: check refuses a shared node, a missing child and a child of another category") {
  object::Module module;
  Tree tree(module);
  const NodeId x = tree.add(Name{tree.intern("x")});
  const NodeId shared = tree.add(BinOp{x, 0, x});
  EXPECT(fails([&] { check(tree, shared); }));
  const NodeId missing = tree.add(Await{NodeId()});
  EXPECT(fails([&] { check(tree, missing); }));
  const NodeId misplaced = tree.add(Expr{tree.add(Pass{})});
  EXPECT(fails([&] { check(tree, misplaced); }));
  const NodeId absent_allowed = tree.add(Return{NodeId()});
  check(tree, absent_allowed);
}

TEST("ast: same compares constants by value and ignores places") {
  object::Module module;
  Tree tree(module);
  const auto make = [&](int64_t value, int32_t line) {
    const NodeId constant = tree.add(Constant{integer(module, value)}, Where{line, 0});
    return tree.add(Expr{tree.add(Starred{constant})});
  };
  const NodeId a = make(1, 3);
  const NodeId b = make(1, 4);
  const NodeId c = make(2, 3);
  EXPECT(same(tree, a, b));
  EXPECT(!same(tree, a, c));
  EXPECT(!same(tree, a, NodeId()));
}

TEST("ast: trees of any depth are dumped, checked and compared") {
  object::Module module;
  Tree tree(module);
  const auto tower = [&] {
    NodeId top = tree.add(Name{tree.intern("x")});
    for (int i = 0; i < 2'000; ++i) top = tree.add(Starred{top});
    return top;
  };
  const NodeId a = tower();
  const NodeId b = tower();
  check(tree, a);
  EXPECT(same(tree, a, b));
  EXPECT(dump(tree, a).size() > 2'000);
}

}  // namespace
}  // namespace pellucid::ast
