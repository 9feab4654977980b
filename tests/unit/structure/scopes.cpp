// SPDX-License-Identifier: Apache-2.0
// What is put before and taken out of the bodies of code objects.
#include "structure/scopes/scopes.h"
#include "ast/nodes.h"

#include <string>

#include "structure/expressions/expressions.h"
#include "testing.h"

namespace pellucid::structure {
namespace {

using ast::NodeId;
using bytecode::Op;
using object::CodeId;
using object::Const;
using object::ConstKind;

// A module whose one nested code object is finished.
class Nested {
 public:
  explicit Nested(const char* name, uint32_t flags) : tree(module) {
    module.version = {3, 11};
    object::Code outer;
    outer.name = module.strings.intern("<module>");
    object::Code inner;
    inner.name = module.strings.intern(name);
    inner.flags = flags;
    module.root = module.codes.push_back(outer);
    function.code = module.codes.push_back(inner);
    Const code;
    code.kind = ConstKind::Code;
    code.code = function.code;
    module.codes.edit(module.root).consts.push_back(module.add(code));
  }
  object::Code& code() { return module.codes.edit(function.code); }
  Symbol symbol(const char* text) { return module.strings.intern(text); }
  NodeId name(const char* text) { return ast::name_node(tree, text, {}); }
  NodeId str(const char* text) {
    Const value;
    value.kind = ConstKind::Str;
    value.text = symbol(text);
    return tree.add(ast::Constant{module.add(value)});
  }
  NodeId assign(NodeId target, NodeId value) {
    return tree.add(ast::Assign{tree.list({target}), value});
  }
  void instr(Op op, const char* operand) {
    ir::Value value;
    value.op = op;
    value.a = symbol(operand).value;
    function.values.push_back(value);
  }
  std::string finish(const std::vector<NodeId>& body) {
    Scopes scopes(tree);
    const ast::ListId done = scopes.finish_body(tree.list(body), function, {});
    std::string text;
    for (const NodeId statement : tree.items(done)) {
      std::string line;
      for (const char c : ast::dump(tree, statement)) {
        if (c == '\n') continue;
        if (c == ' ' &&
            (line.empty() || std::string(" ([").find(line.back()) != std::string::npos)) {
          continue;
        }
        line += c;
      }
      text += line + "\n";
    }
    return text;
  }

  object::Module module;
  ast::Tree tree;
  ir::Function function;
};

TEST("scopes: a global that is stored, a local that is only read and a lost yield are said again") {
  Nested nested("f", object::kOptimized | object::kGenerator);
  nested.code().varnames = {nested.symbol("x")};
  nested.instr(Op::StoreGlobal, "g");
  nested.instr(Op::LoadFast, "x");
  const NodeId call = nested.tree.add(ast::Expr{nested.name("x")});
  EXPECT_EQ(nested.finish({call}),
            "Global(names=[Name(id='g')])\n"
            "If(test=Constant(value=False), body=[Assign(targets=[Name(id='x')], "
            "value=Constant(value=None)), Expr(value=Yield())])\n"
            "Expr(value=Name(id='x'))\n");
}

TEST("scopes: a class body loses what the compiler put around it") {
  Nested nested("C", 0);
  const NodeId module = nested.assign(nested.name("__module__"), nested.name("__name__"));
  const NodeId qualname = nested.assign(nested.name("__qualname__"), nested.str("C"));
  const NodeId doc = nested.assign(nested.name("__doc__"), nested.str("text"));
  const NodeId cell = nested.assign(nested.name("__classcell__"), nested.name("x"));
  const NodeId back = nested.tree.add(ast::Return{nested.name("x")});
  EXPECT_EQ(nested.finish({module, qualname, doc, cell, back}),
            "Expr(value=Constant(value='text'))\n");
}

TEST("scopes: the store of an annotation joins the store of the value in front of it") {
  Nested nested("C", 0);
  nested.instr(Op::SetupAnnotations, "");
  const NodeId value = nested.assign(nested.name("x"), nested.str("v"));
  const NodeId target =
      nested.tree.add(ast::Subscript{nested.name("__annotations__"), nested.str("x")});
  const NodeId annotation = nested.assign(target, nested.name("int"));
  EXPECT_EQ(nested.finish({value, annotation}),
            "AnnAssign(target=Name(id='x'), annotation=Name(id='int'), "
            "value=Constant(value='v'), simple=1)\n");
}

TEST("scopes: a return in front of the rest of a class body makes the rest an else") {
  Nested nested("C", 0);
  const NodeId back = nested.tree.add(ast::Return{});
  const NodeId branch =
      nested.tree.add(ast::If{nested.name("a"), nested.tree.list({back}), ast::ListId()});
  const NodeId rest = nested.tree.add(ast::Expr{nested.name("b")});
  EXPECT_EQ(nested.finish({branch, rest}),
            "If(test=Name(id='a'), body=[Pass()], orelse=[Expr(value=Name(id='b'))])\n");
}

TEST("scopes: a slice outside a subscript is a call, a code object as a value an opaque") {
  Nested nested("f", object::kOptimized);
  const NodeId slice = nested.tree.add(ast::Slice{nested.name("a"), NodeId(), NodeId()});
  const NodeId code = nested.tree.add(ast::Constant{nested.module.codes[0].consts[0]});
  nested.instr(Op::BuildSlice, "");
  EXPECT_EQ(nested.finish(
                {nested.assign(nested.name("x"), slice), nested.assign(nested.name("y"), code)}),
            "Assign(targets=[Name(id='x')], value=Call(func=Name(id='slice'), "
            "args=[Name(id='a'), Constant(value=None)]))\n"
            "Assign(targets=[Name(id='y')], value=Constant(value=<opaque _code_1_f>))\n");
}

}  // namespace
}  // namespace pellucid::structure
