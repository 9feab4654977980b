// SPDX-License-Identifier: Apache-2.0
#include "ast/misfits.h"

#include "testing.h"

namespace pellucid::ast {
namespace {

struct Sample {
  object::Module module;
  Tree tree{module};
  Misfits misfits{tree};

  NodeId name() { return tree.add(Name{tree.intern("x")}); }
  NodeId expression() { return tree.add(Expr{name()}); }
  // `return` with a definition as its value
  NodeId misfit() { return tree.add(Return{tree.add(ClassDef{tree.intern("C")})}); }
};

TEST("ast: a statement within an expression is a misfit, and so is a missing part") {
  Sample sample;
  EXPECT(!sample.misfits.find(sample.tree.list({sample.expression()})).valid());
  const NodeId misfit = sample.misfit();
  EXPECT(sample.misfits.find(sample.tree.list({sample.expression(), misfit})) == misfit);
  const NodeId missing = sample.tree.add(Await{});
  EXPECT(sample.misfits.find(sample.tree.list({sample.tree.add(Expr{missing})})) == missing);
}

TEST("ast: a misfit that is part of no body is none of that body") {
  Sample sample;
  const NodeId misfit = sample.misfit();
  const ListId inner = sample.tree.list({sample.tree.add(If{sample.name(), {}, {}})});
  EXPECT(!sample.misfits.find(inner).valid());
  // It may become part of one around it.
  const ListId outer =
      sample.tree.list({sample.tree.add(If{sample.name(), sample.tree.list({misfit}), {}})});
  EXPECT(sample.misfits.find(outer) == misfit);
}

TEST("ast: a tree says which kinds its nodes got since it was asked to note them") {
  Sample sample;
  const NodeId first = sample.expression();
  sample.tree.start_kinds({Kind::While});
  EXPECT(sample.tree.made().has(Kind::While) && !sample.tree.made().has(Kind::Expr));
  const NodeId copy = sample.tree.copy(first);
  sample.tree.set(copy, Return{});
  sample.tree.add(Pass{});
  for (const Kind kind : {Kind::While, Kind::Expr, Kind::Return, Kind::Pass}) {
    EXPECT(sample.tree.made().has(kind));
  }
  EXPECT(!sample.tree.made().has(Kind::Name));
}

}  // namespace
}  // namespace pellucid::ast
