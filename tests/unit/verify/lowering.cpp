// SPDX-License-Identifier: Apache-2.0
// A lowered tree has the instructions that compilers write: then it is in step with their code, and
// the proof needs no walk.
#include "verify/lower/lower.h"

#include <algorithm>

#include "print/trees.h"
#include "testing.h"

namespace pellucid {
namespace {

using ast::NodeId;
using bytecode::Op;

struct Lowering : print::TreeMaker {
  explicit Lowering(uint8_t minor) { module.version = {3, minor}; }

  // Returns the graph of a module with one statement.
  flow::Graph of(NodeId statement) {
    const NodeId root = tree.add(ast::Module{tree.list({statement})});
    return verify::relower(tree, root).graphs.at(0);
  }
  flow::Graph of_case(NodeId pattern) {
    const NodeId body = tree.add(ast::Pass{});
    const NodeId only = tree.add(ast::match_case{pattern, NodeId(), tree.list({body})});
    return of(tree.add(ast::Match{name("x"), tree.list({only})}));
  }
};

bool has(const flow::Graph& graph, Op op) {
  return std::ranges::any_of(graph.instrs, [&](const flow::Instr& it) { return it.op == op; });
}

bool tests_none(const flow::Graph& graph) {
  return std::ranges::any_of(graph.blocks, [](const flow::Block& block) {
    return block.exit.kind == flow::ExitKind::BranchNone;
  });
}

TEST("since 3.10 the empty tuple of `f(**a)` is a constant") {
  for (const uint8_t minor : {9, 10, 15}) {
    Lowering l(minor);
    const NodeId rest = l.tree.add(ast::keyword{Symbol(), l.name("a")});
    const NodeId call = l.tree.add(ast::Call{l.name("f"), l.tree.list({}), l.tree.list({rest})});
    EXPECT_EQ(has(l.of(l.statement(call)), Op::BuildTuple), minor < 10);
  }
}

TEST("since 3.13 a NULL is above the function of type parameters when it is called") {
  for (const uint8_t minor : {12, 13, 15}) {
    Lowering l(minor);
    const Symbol t = l.tree.intern("T");
    const NodeId parameter = l.tree.add(ast::TypeVar{t, NodeId(), NodeId()});
    const NodeId alias =
        l.tree.add(ast::TypeAlias{l.name("X"), l.tree.list({parameter}), l.name("T")});
    EXPECT_EQ(has(l.of(alias), Op::PushNull), minor >= 13);
  }
}

TEST("since 3.11 patterns test for None by the opcode for that") {
  for (const uint8_t minor : {10, 11, 15}) {
    Lowering singleton(minor);
    object::Const none;
    none.kind = object::ConstKind::None;
    const object::ConstId value = singleton.module.add(none);
    const NodeId pattern = singleton.tree.add(ast::MatchSingleton{value});
    EXPECT_EQ(tests_none(singleton.of_case(pattern)), minor >= 11);
    Lowering of_class(minor);
    const NodeId instance = of_class.tree.add(ast::MatchClass{of_class.name("C"), {}, {}, {}});
    EXPECT_EQ(tests_none(of_class.of_case(instance)), minor >= 11);
  }
}

}  // namespace
}  // namespace pellucid
