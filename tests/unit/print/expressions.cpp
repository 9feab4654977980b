// SPDX-License-Identifier: Apache-2.0
// What no parser makes of source, and so tests/python/reprint.py cannot show: folded constants,
// depth, and what a version's syntax cannot say.
#include "print/trees.h"
#include "testing.h"

namespace pellucid::print {
namespace {

using ast::CmpOperator;
using ast::NodeId;
using ast::Operator;
using object::ConstKind;

TEST("print: a negative constant is parenthesised where unary minus would be") {
  TreeMaker t;
  const auto two = [&] { return t.integer(2); };
  EXPECT_EQ(t.print(t.binary(t.integer(-1), Operator::Pow, two())), "(-1) ** 2\n");
  EXPECT_EQ(t.print(t.binary(two(), Operator::Pow, t.integer(-1))), "2**-1\n");
  EXPECT_EQ(t.print(t.binary(two(), Operator::Sub, t.integer(-1))), "2 - -1\n");
  EXPECT_EQ(t.print(t.tree.add(ast::Attribute{t.integer(1), t.tree.intern("real")})), "(1).real\n");
}

TEST("print: a frozenset is a display only where the compiler would fold one") {
  TreeMaker t;
  const auto set = [&] {
    return t.collection(ConstKind::FrozenSet, {t.int_value(1), t.int_value(2)});
  };
  EXPECT_EQ(t.print(t.compare(t.name("x"), CmpOperator::In, set())), "x in {1, 2}\n");
  EXPECT_EQ(t.print(t.compare(t.name("x"), CmpOperator::Eq, set())), "x == frozenset({1, 2})\n");
  EXPECT_EQ(t.print(t.collection(ConstKind::FrozenSet, {})), "frozenset()\n");
}

TEST("print: constant slices and tuples of them are bare in a subscript") {
  TreeMaker t;
  t.style.version.minor = 14;
  const object::ConstId none = t.module.add(object::Const{});
  const auto slice = [&] {
    object::Const value;
    value.kind = ConstKind::Slice;
    value.items = {t.int_value(1), none, t.int_value(2)};
    return t.module.add(std::move(value));
  };
  const auto index = [&](NodeId key) { return t.tree.add(ast::Subscript{t.name("x"), key}); };
  EXPECT_EQ(t.print(index(t.tree.add(ast::Constant{slice()}))), "x[1::2]\n");
  EXPECT_EQ(t.print(index(t.collection(ConstKind::Tuple, {slice(), t.int_value(3)}))),
            "x[1::2, 3]\n");
  EXPECT_EQ(t.print(t.tree.add(ast::Constant{slice()})), "slice(1, None, 2)\n");
}

TEST("print: an opaque constant is its name") {
  TreeMaker t;
  object::Const value;
  value.kind = ConstKind::Opaque;
  value.text = t.tree.intern("__const_0");
  const object::ConstId id = t.module.add(value);
  EXPECT_EQ(to_literal(t.module, id, t.style), "__const_0");
}

TEST("print: before 3.12 the quotes of f-strings inside each other differ") {
  TreeMaker t;
  NodeId inner = t.text("x");
  for (int i = 0; i < 3; ++i) inner = t.tree.add(ast::JoinedStr{t.tree.list({t.field(inner)})});
  const Source source = t.source(inner);
  EXPECT(source.problems.empty());
  EXPECT_EQ(source.text, "f'''{f'{f\"\"\"{\"x\"}\"\"\"}'}'''\n");
}

TEST("print: what no quotes can hold before 3.12 is printed for 3.12 and reported") {
  TreeMaker t;
  const NodeId value =
      t.tree.add(ast::JoinedStr{t.tree.list({t.field(t.text("\r"))})}, ast::Where{7, 0});
  const NodeId root = t.statement(value, 7);
  const Source old = t.source(root);
  EXPECT_EQ(old.text, "f'{\"\\r\"}'\n");
  REQUIRE(old.problems.size() == 1);
  EXPECT_EQ(old.problems[0].where.line, 7);
  t.style.version.minor = 12;
  EXPECT(to_source(t.tree, root, t.style).problems.empty());
}

TEST("print: a template string shows the text that it remembers") {
  TreeMaker t;
  t.style.version.minor = 14;
  const auto interpolation = [&](NodeId value, std::string_view text) {
    return t.tree.add(ast::Interpolation{value, t.text_value(text), 'r', {}});
  };
  const auto sum = [&] { return t.binary(t.name("a"), Operator::Add, t.name("b")); };
  const NodeId same = t.tree.add(ast::TemplateStr{t.tree.list({interpolation(sum(), "(a+b)")})});
  const Source exact = t.source(same);
  EXPECT_EQ(exact.text, "t'{(a+b)!r}'\n");
  EXPECT(exact.problems.empty());
  const NodeId other = t.tree.add(ast::TemplateStr{t.tree.list({interpolation(sum(), "c")})});
  const Source changed = t.source(other);
  EXPECT_EQ(changed.text, "t'{a + b!r}'\n");
  EXPECT_EQ(changed.problems.size(), 1u);
}

TEST("print: expressions of any depth are printed in linear time") {
  TreeMaker t;
  const int depth = 200'000;
  NodeId left = t.name("x");
  NodeId right = t.name("x");
  NodeId call = t.name("x");
  for (int i = 0; i < depth; ++i) {
    left = t.binary(left, Operator::Add, t.name("y"));
    right = t.tree.add(ast::UnaryOp{static_cast<uint32_t>(ast::UnaryOperator::Not), right});
    call = t.tree.add(ast::Call{call, {}, {}});
  }
  EXPECT_EQ(t.print(left).size(), 2u + 4 * depth);
  EXPECT_EQ(t.print(right).size(), 2u + 4 * depth);
  EXPECT_EQ(t.print(call).size(), 2u + 2 * depth);
}

TEST("print: an expression is written the same way at every depth") {
  TreeMaker t;
  t.style = {{3, 13}};
  t.style.keep_lines = true;  // no line is broken
  NodeId node = t.text("a");
  std::string text = "\"a\"";
  for (int depth = 0; depth < 150; ++depth) {
    // In an f-string, before and after another string: the quotes inside are those that are free.
    const NodeId joined =
        t.tree.add(ast::JoinedStr{t.tree.list({t.field(node), t.text("{"), t.field(t.text("b"))})});
    const NodeId both = t.tree.add(ast::List{t.tree.list({joined, t.text("c")})});
    EXPECT_EQ(t.print(both), "[f'{" + text + "}{{{\"b\"}', 'c']\n");
    switch (depth % 5) {
      case 0: {
        const NodeId keyword = t.tree.add(ast::keyword{t.tree.intern("key"), node});
        node = t.tree.add(ast::Call{t.name("f"), {}, t.tree.list({keyword})});
        text = "f(key=" + text + ")";
        break;
      }
      case 1:
        node = t.tree.add(ast::Tuple{t.tree.list({node})});
        text = "(" + text + ",)";
        break;
      case 2:
        node = t.binary(node, Operator::Add, t.name("x"));
        text += " + x";
        break;
      case 3:
        node = t.tree.add(ast::Attribute{node, t.tree.intern("y")});
        text = "(" + text + ").y";
        break;
      default:
        node = t.tree.add(ast::Subscript{t.name("z"), node});
        text = "z[" + text + "]";
        break;
    }
  }
}

TEST("print: a power of names and numbers has no spaces, the colon between operations does") {
  TreeMaker t;
  const auto attribute = [&] {
    return t.tree.add(ast::Attribute{t.name("a"), t.tree.intern("b")});
  };
  const auto index = [&](ast::NodeId lower, ast::NodeId upper) {
    const ast::NodeId slice = t.tree.add(ast::Slice{lower, upper, {}});
    return t.print(t.tree.add(ast::Subscript{t.name("x"), slice}));
  };
  const auto sum = [&] { return t.binary(t.name("n"), Operator::Add, t.integer(1)); };
  EXPECT_EQ(t.print(t.binary(attribute(), Operator::Pow, t.integer(2))), "a.b**2\n");
  EXPECT_EQ(t.print(t.binary(sum(), Operator::Pow, t.integer(2))), "(n + 1) ** 2\n");
  EXPECT_EQ(index(t.name("n"), t.integer(-1)), "x[n:-1]\n");
  EXPECT_EQ(index(sum(), {}), "x[n + 1 :]\n");
  EXPECT_EQ(index({}, sum()), "x[: n + 1]\n");
}

}  // namespace
}  // namespace pellucid::print
