// SPDX-License-Identifier: Apache-2.0
#include "print/trees.h"
#include "testing.h"

namespace pellucid::print {
namespace {

using ast::NodeId;

NodeId pass(TreeMaker& t) { return t.tree.add(ast::Pass{}); }

NodeId function(TreeMaker& t, std::initializer_list<NodeId> body) {
  ast::FunctionDef node;
  node.name = t.tree.intern("f");
  node.args = t.tree.add(ast::arguments{});
  node.body = t.tree.list(body);
  return t.tree.add(node);
}

TEST("print: an else that is one if becomes elif, however long the chain") {
  TreeMaker t;
  NodeId last = t.tree.add(ast::If{t.name("z"), t.tree.list({pass(t)}), {}});
  const size_t count = 2'000;
  for (size_t i = 0; i < count; ++i) {
    last = t.tree.add(ast::If{t.name("x"), t.tree.list({pass(t)}), t.tree.list({last})});
  }
  const Source source = t.source(last);
  EXPECT(source.text.starts_with("if x:\n    pass\nelif x:\n    pass\n"));
  EXPECT(source.text.ends_with("elif z:\n    pass\n"));
  EXPECT_EQ(source.map.size(), 2 * (count + 1));
}

TEST("print: a body without statements has a pass, comments or not") {
  TreeMaker t;
  const NodeId comment = t.tree.add(ast::Comment{t.tree.intern("one\ntwo")});
  EXPECT_EQ(t.print(function(t, {comment})), "def f():\n    # one\n    # two\n    pass\n");
  EXPECT_EQ(t.print(function(t, {})), "def f():\n    pass\n");
  EXPECT_EQ(t.print(t.tree.add(ast::Module{})), "");
}

TEST("print: a docstring has triple quotes and real line ends") {
  TreeMaker t;
  const auto doc = [&](std::string_view text) { return function(t, {t.statement(t.text(text))}); };
  EXPECT_EQ(t.print(doc("Title.\n\nBody \\ \"\"\"quoted\"")),
            "def f():\n    \"\"\"Title.\n\nBody \\\\ \"\"\\\"quoted\\\"\"\"\"\n");
  t.style.version.minor = 13;
  // The version of the bytecode leaves it as it is.
  t.module.version.minor = 12;
  EXPECT_EQ(t.print(doc("Title.\n\nBody\n")), "def f():\n    \"\"\"Title.\n\nBody\n\"\"\"\n");
  t.module.version.minor = 13;
  EXPECT_EQ(t.print(doc("Title.\n\nBody\n    more\n")),
            "def f():\n    \"\"\"Title.\n\n    Body\n        more\n    \"\"\"\n");
  // Not what the compiler leaves of an indented docstring, so it stands as it is.
  EXPECT_EQ(t.print(doc("Title.\n  Body")), "def f():\n    \"\"\"Title.\n  Body\"\"\"\n");
}

TEST("print: a text of lines that one line does not hold has triple quotes") {
  TreeMaker t;
  const std::string line(20, 'a');
  const std::string text = line + '\n' + line + '\n' + line + '\n';
  EXPECT_EQ(t.print(t.statement(t.text(text))), "\"\"\"" + text + "\"\"\"\n");
  // Those whose ends do not show, few lines, and short ones have escapes.
  EXPECT_EQ(t.print(t.statement(t.text(line + " \n" + text))),
            "'" + line + " \\n" + line + "\\n" + line + "\\n" + line + "\\n'\n");
  EXPECT_EQ(t.print(t.statement(t.text("a\nb\nc\nd"))), "'a\\nb\\nc\\nd'\n");
}

TEST("print: the source map has the line of each statement") {
  TreeMaker t;
  const NodeId inner = t.statement(t.name("y"), 20);
  const NodeId root = t.tree.add(ast::Module{t.tree.list(
      {t.statement(t.name("x"), 10), function(t, {t.statement(t.text("a\nb"), 19), inner})})});
  const Source source = t.source(root);
  EXPECT_EQ(source.text, "x\n\n\ndef f():\n    \"\"\"a\nb\"\"\"\n    y\n");
  REQUIRE(source.map.size() == 4);
  EXPECT_EQ(source.map[0].line, 1u);
  EXPECT_EQ(source.map[1].line, 4u);
  EXPECT_EQ(source.map[2].line, 5u);
  EXPECT_EQ(source.map[3].line, 7u);
  EXPECT_EQ(source.map[3].where.line, 20);
}

TEST("print: statements stay on their lines on request") {
  TreeMaker t;
  t.style.keep_lines = true;
  const NodeId root = t.tree.add(ast::Module{t.tree.list(
      {t.statement(t.name("a"), 2), t.statement(t.name("b"), 2), t.statement(t.name("c"), 5)})});
  EXPECT_EQ(t.print(root), "\na; b\n\n\nc\n");
}

TEST("print: long lines are broken in brackets only") {
  TreeMaker t;
  std::vector<NodeId> args;
  for (int i = 0; i < 8; ++i) args.push_back(t.name("argument_" + std::to_string(i)));
  const auto call = [&](std::span<const NodeId> list) {
    return t.tree.add(ast::Call{t.name("function"), t.tree.list(list), {}});
  };
  EXPECT_EQ(t.print(call(std::span(args).first(7))),
            "function(argument_0, argument_1, argument_2, argument_3, argument_4, argument_5, "
            "argument_6)\n");
  std::vector<NodeId> again;
  for (int i = 0; i < 8; ++i) again.push_back(t.name("argument_" + std::to_string(i)));
  const NodeId two[] = {t.name("x"), call(again)};
  EXPECT_EQ(t.print(call(two)), R"(function(
    x,
    function(
        argument_0,
        argument_1,
        argument_2,
        argument_3,
        argument_4,
        argument_5,
        argument_6,
        argument_7,
    ),
)
)");
}

TEST("print: a long operation that is all of a condition gets brackets") {
  TreeMaker t;
  const auto call = [&](const std::string& name) {
    return t.tree.add(
        ast::Call{t.name(name), t.tree.list({t.name("argument"), t.name("other")}), {}});
  };
  const auto both = [&](ast::BoolOperator op, std::initializer_list<NodeId> values) {
    return t.tree.add(ast::BoolOp{static_cast<uint32_t>(op), t.tree.list(values)});
  };
  const NodeId inner =
      both(ast::BoolOperator::And, {call("first_of_them"), call("second_of_them")});
  const NodeId test = both(ast::BoolOperator::Or, {inner, call("third_of_them"), call("the_last")});
  EXPECT_EQ(t.print(t.tree.add(ast::If{test, t.tree.list({pass(t)}), {}})), R"(if (
    first_of_them(argument, other)
    and second_of_them(argument, other)
    or third_of_them(argument, other)
    or the_last(argument, other)
):
    pass
)");
}

TEST("print: an operation of a value that ends in brackets may be broken in these alone") {
  TreeMaker t;
  const std::string text = "'" + std::string(60, '%') + "'";
  const auto arguments = [&] {
    std::vector<NodeId> names;
    for (int i = 0; i < 4; ++i) names.push_back(t.name("argument_" + std::to_string(i)));
    return t.tree.add(ast::Tuple{t.tree.list(names)});
  };
  const NodeId whole = t.binary(t.text(std::string(60, '%')), ast::Operator::Mod, arguments());
  EXPECT_EQ(t.print(t.tree.add(ast::Return{whole})),
            "return " + text + " % (\n    argument_0,\n    argument_1,\n    argument_2,\n" +
                "    argument_3,\n)\n");
  const NodeId sum =
      t.binary(t.text(std::string(60, '%')), ast::Operator::Add, t.text(std::string(60, '%')));
  EXPECT_EQ(t.print(t.tree.add(ast::Return{sum})),
            "return (\n    " + text + "\n    + " + text + "\n)\n");
}

TEST("print: behind an indentation that takes most of the line, short texts stay whole") {
  TreeMaker t;
  const auto call = [&](size_t arguments) {
    std::vector<NodeId> args;
    for (size_t i = 0; i < arguments; ++i) args.push_back(t.name("argument"));
    return t.statement(t.tree.add(ast::Call{t.name("f"), t.tree.list(args), {}}));
  };
  NodeId last = t.tree.add(ast::If{t.name("x"), t.tree.list({call(3), call(4)}), {}});
  for (size_t i = 0; i < 40; ++i) last = t.tree.add(ast::If{t.name("x"), t.tree.list({last}), {}});
  const std::string text = t.print(last), indent(size_t{4} * 41, ' ');
  EXPECT(text.ends_with(indent + "f(argument, argument, argument)\n" + indent + "f(\n" + indent +
                        "    argument, argument, argument, argument\n" + indent + ")\n"));
}

TEST("print: an import that is too long is broken in brackets, one name a line") {
  TreeMaker t;
  const auto import = [&](size_t count) {
    std::vector<NodeId> names;
    for (size_t i = 0; i < count; ++i) {
      names.push_back(t.tree.add(ast::alias{t.tree.intern("a_name_of_this_length"), {}}));
    }
    return t.print(t.tree.add(ast::ImportFrom{t.tree.intern("x"), t.tree.list(names), 0}));
  };
  EXPECT_EQ(import(2), "from x import a_name_of_this_length, a_name_of_this_length\n");
  const std::string line = "    a_name_of_this_length,\n";
  EXPECT_EQ(import(4), "from x import (\n" + line + line + line + line + ")\n");
}

TEST("print: a body that is `...` stands beside its header, if that is a definition") {
  TreeMaker t;
  const auto stub = [&] {
    object::Const value;
    value.kind = object::ConstKind::Ellipsis;
    return t.tree.list({t.statement(t.constant(value))});
  };
  ast::ClassDef made;
  made.name = t.tree.intern("A");
  made.body = stub();
  EXPECT_EQ(t.print(t.tree.add(made)), "class A: ...\n");
  EXPECT_EQ(t.print(t.tree.add(ast::If{t.name("x"), stub(), {}})), "if x:\n    ...\n");
}

TEST("print: an import from more packages further out than there can be is reported") {
  TreeMaker t;
  const NodeId star = t.tree.add(ast::alias{t.tree.intern("*"), {}});
  const NodeId near = t.tree.add(ast::ImportFrom{t.tree.intern("x"), t.tree.list({star}), 2});
  EXPECT_EQ(t.print(near), "from ..x import *\n");
  const NodeId far = t.tree.add(ast::ImportFrom{t.tree.intern("x"), t.tree.list({star}), ~0u});
  EXPECT_EQ(t.source(far).problems.size(), 1u);
}

TEST("print: syntax that is newer than the version is reported") {
  TreeMaker t;
  ast::Match node;
  node.subject = t.name("x");
  node.cases = t.tree.list(
      {t.tree.add(ast::match_case{t.tree.add(ast::MatchAs{}), {}, t.tree.list({pass(t)})})});
  const NodeId root = t.tree.add(node);
  const Source source = t.source(root);
  EXPECT_EQ(source.text, "match x:\n    case _:\n        pass\n");
  REQUIRE(source.problems.size() == 1);
  EXPECT_EQ(source.problems[0].message, std::string("match needs Python 3.10"));
}

TEST("print: a check that fails says in which code object") {
  TreeMaker t;
  const NodeId no_expression = t.statement(pass(t));
  t.tree.set_where(no_expression, {7, 20, object::CodeId(3u)});
  const NodeId root = t.tree.add(ast::Module{t.tree.list({pass(t), no_expression})});
  const Source source = to_source(t.tree, root, t.style);
  REQUIRE(source.failure.has_value());
  EXPECT_EQ(source.failure->where.code.value, 3u);
  EXPECT_EQ(source.failure->where.offset, 20u);
  EXPECT(source.failure->message.starts_with("check failed: "));
}

}  // namespace
}  // namespace pellucid::print
