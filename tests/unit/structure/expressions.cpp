// SPDX-License-Identifier: Apache-2.0
// Expressions of single values, from ir::Functions built by hand.
#include "structure/expressions/expressions.h"
#include "ast/nodes.h"

#include <string>

#include "structure/scopes/scopes.h"
#include "testing.h"

namespace pellucid::structure {
namespace {

using ast::NodeId;
using bytecode::Op;
using ir::ValueId;
using object::Const;
using object::ConstId;
using object::ConstKind;

// The values of one code object, each turned into its expression as it is added.
class OneBody {
 public:
  OneBody() : tree(module) {
    object::Code code;
    code.name = module.strings.intern("f");
    code.flags = object::kOptimized;
    module.codes.push_back(code);
    function.code = object::CodeId(0u);
    bodies.resize(8);
  }

  ValueId add(Op op, uint32_t a, const std::vector<ValueId>& operands, uint32_t b = 0) {
    ir::Value value;
    value.op = op;
    value.a = a;
    value.b = b;
    value.first = static_cast<uint32_t>(function.operand_pool.size());
    value.count = static_cast<uint32_t>(operands.size());
    function.operand_pool.insert(function.operand_pool.end(), operands.begin(), operands.end());
    function.values.push_back(value);
    std::vector<NodeId> nodes;
    for (const ValueId operand : operands) nodes.push_back(made[operand.index()]);
    made.push_back(Expressions(function, tree, bodies).make(value, nodes));
    return ValueId(function.values.size() - 1);
  }
  ValueId load(const char* name) {
    return add(Op::LoadName, module.strings.intern(name).value, {});
  }
  ValueId constant(ConstId id) { return add(Op::LoadConst, id.value, {}); }
  ConstId str(const char* text) {
    Const value;
    value.kind = ConstKind::Str;
    value.text = module.strings.intern(text);
    return module.add(value);
  }
  ConstId integer(int64_t number) {
    Const value;
    value.kind = ConstKind::Int;
    value.integer = number;
    return module.add(value);
  }
  ConstId tuple(std::vector<ConstId> items, ConstKind kind = ConstKind::Tuple) {
    Const value;
    value.kind = kind;
    value.items = std::move(items);
    return module.add(value);
  }
  // A nested code object with these parameters and this body.
  ValueId code(const char* name, std::vector<const char*> args, std::vector<NodeId> body) {
    object::Code nested;
    nested.name = module.strings.intern(name);
    nested.flags = object::kOptimized;
    nested.argcount = static_cast<uint32_t>(args.size());
    for (const char* arg : args) nested.varnames.push_back(module.strings.intern(arg));
    module.codes.push_back(nested);
    Const value;
    value.kind = ConstKind::Code;
    value.code = object::CodeId(module.codes.size() - 1);
    bodies[value.code.index()] = tree.list(body);
    return constant(module.add(value));
  }
  NodeId name(const char* text) { return ast::name_node(tree, text, {}); }

  // The dump of a value's expression on one line.
  std::string text(ValueId id) {
    if (!made[id.index()].valid()) return "none";
    std::string line;
    for (const char c : ast::dump(tree, made[id.index()])) {
      if (c == '\n') continue;
      if (c == ' ' &&
          (line.empty() || line.back() == ' ' || line.back() == '(' || line.back() == '[')) {
        continue;
      }
      line += c;
    }
    return line;
  }

  object::Module module;
  ast::Tree tree;
  ir::Function function;
  std::vector<ast::ListId> bodies;
  std::vector<NodeId> made;
};

TEST("expressions: a named call takes its names from the tuple on top") {
  OneBody run;
  const ValueId f = run.load("f");
  const ValueId a = run.load("a");
  const ValueId b = run.load("b");
  const ValueId names = run.constant(run.tuple({run.str("k")}));
  EXPECT_EQ(run.text(run.add(Op::CallKw, 2, {f, a, b, names}, 1)),
            "Call(func=Name(id='f'), args=[Name(id='a')], keywords=[keyword(arg='k', "
            "value=Name(id='b'))])");
}

TEST("expressions: a list that grows and becomes a tuple is a call's arguments") {
  OneBody run;
  const ValueId f = run.load("f");
  const ValueId a = run.load("a");
  const ValueId list = run.add(Op::BuildList, 1, {a});
  const ValueId rest = run.add(Op::ListExtend, 1, {list, run.load("b")});
  const ValueId tuple = run.add(Op::ListToTuple, 0, {rest});
  const ValueId empty = run.add(Op::BuildMap, 0, {});
  const ValueId merged = run.add(Op::DictMerge, 1, {empty, run.load("d")});
  EXPECT_EQ(run.text(run.add(Op::CallEx, 1, {f, tuple, merged}, 1)),
            "Call(func=Name(id='f'), args=[Name(id='a'), Starred(value=Name(id='b'))], "
            "keywords=[keyword(value=Name(id='d'))])");
}

TEST("expressions: three constants or more are a display, two a starred tuple") {
  OneBody run;
  const auto list_of = [&](std::vector<ConstId> items) {
    return run.add(Op::ListExtend, 1,
                   {run.add(Op::BuildList, 0, {}), run.constant(run.tuple(std::move(items)))});
  };
  const ConstId one = run.integer(1);
  EXPECT_EQ(run.text(list_of({one, one, one})),
            "List(elts=[Constant(value=1), Constant(value=1), Constant(value=1)])");
  EXPECT_EQ(run.text(list_of({one, one})), "List(elts=[Starred(value=Constant(value=(1, 1)))])");
  const ValueId grown = run.add(Op::ListAppend, 1, {list_of({one, one, one}), run.load("x")});
  EXPECT_EQ(run.text(grown), "List(elts=[Starred(value=Constant(value=(1, 1, 1))), Name(id='x')])");
}

TEST("expressions: 3.8 joins parts, of which neighbours were not both plain") {
  OneBody run;
  const ValueId a = run.add(Op::BuildTuple, 1, {run.load("a")});
  const ValueId b = run.add(Op::BuildTuple, 1, {run.load("b")});
  EXPECT_EQ(run.text(run.add(Op::BuildListUnpack, 3, {a, b, run.load("c")})),
            "List(elts=[Name(id='a'), Starred(value=Tuple(elts=[Name(id='b')])), "
            "Starred(value=Name(id='c'))])");
}

TEST("expressions: neighbouring literal parts of a string become one") {
  OneBody run;
  const ValueId x = run.add(Op::Format, 2, {run.load("x"), run.constant(run.str(">3"))}, 1);
  const ValueId whole =
      run.add(Op::BuildString, 3, {run.constant(run.str("a")), run.constant(run.str("b")), x});
  EXPECT_EQ(run.text(whole),
            "JoinedStr(values=[Constant(value='ab'), FormattedValue(value=Name(id='x'), "
            "conversion=114, format_spec=JoinedStr(values=[Constant(value='>3')]))])");
}

TEST("expressions: defaults and annotations find their parameters") {
  OneBody run;
  const NodeId back = run.tree.add(ast::Return{run.name("x")});
  const ValueId defaults = run.constant(run.tuple({run.integer(1)}));
  const ValueId annotations = run.add(Op::BuildTuple, 4,
                                      {run.constant(run.str("x")), run.load("int"),
                                       run.constant(run.str("return")), run.load("str")});
  const ValueId code = run.code("g", {"x", "y"}, {back});
  const ValueId made = run.add(Op::MakeFunction, bytecode::kDefaults | bytecode::kAnnotations,
                               {defaults, annotations, code});
  EXPECT_EQ(run.text(made),
            "FunctionDef(name='g', args=arguments(args=[arg(arg='x', annotation=Name(id='int')), "
            "arg(arg='y')], defaults=[Constant(value=1)]), body=[Return(value=Name(id='x'))], "
            "returns=Name(id='str'))");
}

TEST("expressions: a definition takes its decorators off the calls, and only under its name") {
  OneBody run;
  const ValueId code = run.code("g", {}, {run.tree.add(ast::Pass{})});
  const ValueId decorator = run.load("d");
  const ValueId made = run.add(Op::MakeFunction, 0, {code});
  const ValueId call = run.add(Op::Call, 1, {decorator, made}, 1);
  Expressions expressions(run.function, run.tree, run.bodies);
  EXPECT(!expressions.definition(run.made[call.index()], run.module.strings.intern("h")).valid());
  run.made[call.index()] =
      expressions.definition(run.made[call.index()], run.module.strings.intern("g"));
  EXPECT_EQ(
      run.text(call),
      "FunctionDef(name='g', args=arguments(), body=[Pass()], decorator_list=[Name(id='d')])");
}

TEST("expressions: the call of a comprehension's function is the comprehension") {
  OneBody run;
  ast::Tree& tree = run.tree;
  const NodeId element = tree.add(ast::Expr{tree.add(ast::Yield{run.name("x")})});
  const NodeId skip =
      tree.add(ast::If{run.name("c"), tree.list({tree.add(ast::Continue{})}), ast::ListId()});
  const NodeId loop =
      tree.add(ast::For{run.name("x"), run.name(".0"), tree.list({skip, element}), {}, 0});
  const ValueId code = run.code("<listcomp>", {".0"}, {loop, tree.add(ast::Return{run.name("r")})});
  const ValueId made = run.add(Op::MakeFunction, 0, {code});
  const ValueId iter = run.add(Op::GetIter, 0, {run.load("xs")});
  EXPECT_EQ(run.text(run.add(Op::Call, 1, {made, iter}, 1)),
            "ListComp(elt=Name(id='x'), generators=[comprehension(target=Name(id='x'), "
            "iter=Name(id='xs'), ifs=[UnaryOp(op=Not, operand=Name(id='c'))])])");
}

TEST("expressions: a lambda whose body returns in both arms is a conditional expression") {
  OneBody run;
  ast::Tree& tree = run.tree;
  const NodeId a = tree.add(ast::Return{run.name("a")});
  const NodeId b = tree.add(ast::Return{run.name("b")});
  const NodeId branch = tree.add(ast::If{run.name("c"), tree.list({a}), ast::ListId()});
  const ValueId code = run.code("<lambda>", {}, {branch, b});
  EXPECT_EQ(run.text(run.add(Op::MakeFunction, 0, {code})),
            "Lambda(args=arguments(), body=IfExp(test=Name(id='c'), body=Name(id='a'), "
            "orelse=Name(id='b')))");
}

TEST("expressions: a class loses its builder and shortens its private names") {
  OneBody run;
  ast::Tree& tree = run.tree;
  const NodeId store = tree.add(
      ast::Assign{tree.list({run.name("_C__x")}), tree.add(ast::Constant{run.integer(1)})});
  const ValueId code = run.code("C", {}, {store});
  const ValueId build = run.add(Op::LoadBuildClass, 0, {});
  const ValueId body = run.add(Op::MakeFunction, 0, {code});
  const ValueId name = run.constant(run.str("C"));
  EXPECT_EQ(run.text(run.add(Op::Call, 3, {build, body, name, run.load("B")}, 1)),
            "ClassDef(name='C', bases=[Name(id='B')], body=[Assign(targets=[Name(id='__x')], "
            "value=Constant(value=1))])");
}

}  // namespace
}  // namespace pellucid::structure
