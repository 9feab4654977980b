// SPDX-License-Identifier: Apache-2.0
// Trees whose text CPython would not read as them.
#include "verify/lower/spelling.h"

#include <string>
#include <utility>
#include <vector>

#include "print/trees.h"
#include "testing.h"

namespace pellucid {
namespace {

using ast::ListId;
using ast::NodeId;

struct Spelling : print::TreeMaker {
  explicit Spelling(uint8_t minor = 12) { module.version = {3, minor}; }

  NodeId walrus() { return tree.add(ast::NamedExpr{name("w"), name("v")}); }
  NodeId yield() { return tree.add(ast::Yield{}); }
  NodeId generator(NodeId iterable, std::vector<NodeId> tests = {}) {
    return tree.add(ast::comprehension{name("x"), iterable, tree.list(std::move(tests)), 0});
  }
  NodeId list_of(NodeId element, std::vector<NodeId> generators) {
    return tree.add(ast::ListComp{element, tree.list(std::move(generators))});
  }
  NodeId parameters(const std::vector<std::string>& names) {
    std::vector<NodeId> list;
    for (const std::string& each : names) list.push_back(tree.add(ast::arg{tree.intern(each)}));
    return tree.add(ast::arguments{{}, tree.list(std::move(list))});
  }
  NodeId function(NodeId value, NodeId arguments) {
    const ListId body = tree.list({statement(value)});
    return tree.add(ast::FunctionDef{tree.intern("f"), arguments, body});
  }

  // The rule that the function of an expression breaks; empty if none.
  std::string rule(NodeId value, const std::vector<std::string>& names = {}) {
    const NodeId def = function(value, parameters(names));
    const NodeId root = tree.add(ast::Module{tree.list({def})});
    const verify::lower::Misspelt found = verify::lower::misspelt(tree, root);
    const auto it = found.find(def);
    return it == found.end() ? std::string() : it->second;
  }
  // The rule that an expression in a class breaks.
  std::string rule_in_class(NodeId value) {
    const NodeId def = tree.add(
        ast::ClassDef{tree.intern("C"), ListId(), ListId(), tree.list({statement(value)})});
    const NodeId root = tree.add(ast::Module{tree.list({def})});
    const verify::lower::Misspelt found = verify::lower::misspelt(tree, root);
    const auto it = found.find(def);
    return it == found.end() ? std::string() : it->second;
  }
};

TEST("what a comprehension iterates assigns to nothing") {
  const std::string broken = "an assignment expression in what is iterated";
  Spelling s;
  EXPECT_EQ(s.rule(s.list_of(s.name("x"), {s.generator(s.walrus())})), broken);
  // Nor does the iterable of a later loop, or a part of one.
  const NodeId sum = s.binary(s.name("a"), ast::Operator::Add, s.walrus());
  EXPECT_EQ(s.rule(s.list_of(s.name("x"), {s.generator(s.name("y")), s.generator(sum)})), broken);
  // Nor does a comprehension that is iterated.
  const NodeId inner = s.list_of(s.walrus(), {s.generator(s.name("y"))});
  EXPECT_EQ(s.rule(s.list_of(s.name("x"), {s.generator(inner)})), broken);
  // Its element and its tests may.
  EXPECT_EQ(s.rule(s.list_of(s.walrus(), {s.generator(s.name("y"))})), std::string());
  EXPECT_EQ(s.rule(s.list_of(s.name("x"), {s.generator(s.name("y"), {s.walrus()})})),
            std::string());
}

TEST("only the first iterable of a comprehension is outside of it") {
  const std::string broken = "yield within a comprehension";
  Spelling s;
  EXPECT_EQ(s.rule(s.list_of(s.name("x"), {s.generator(s.yield())})), std::string());
  EXPECT_EQ(s.rule(s.list_of(s.yield(), {s.generator(s.name("y"))})), broken);
  EXPECT_EQ(s.rule(s.list_of(s.name("x"), {s.generator(s.name("y")), s.generator(s.yield())})),
            broken);
  // Outside of the inner one is within the outer one, unless that iterates it first, too.
  const NodeId element = s.list_of(s.name("x"), {s.generator(s.yield())});
  EXPECT_EQ(s.rule(s.list_of(element, {s.generator(s.name("y"))})), broken);
  const NodeId first = s.list_of(s.name("x"), {s.generator(s.yield())});
  EXPECT_EQ(s.rule(s.list_of(s.name("x"), {s.generator(first)})), std::string());
}

TEST("a comprehension of a class assigns to nothing") {
  Spelling s;
  EXPECT_EQ(s.rule_in_class(s.list_of(s.walrus(), {s.generator(s.name("y"))})),
            std::string("an assignment expression in a comprehension of a class"));
  EXPECT_EQ(s.rule_in_class(s.walrus()), std::string());
}

TEST("a name or a constant may be what is nested too deep") {
  const auto rule = [](uint8_t minor, bool is_name, uint32_t levels) {
    Spelling s(minor);
    NodeId value = is_name ? s.name("x") : s.integer(1);
    // The function, its statement and the innermost expression are levels, too.
    for (uint32_t i = 3; i < levels; ++i) {
      value = s.tree.add(ast::Attribute{value, s.tree.intern("a")});
    }
    return s.rule(value);
  };
  for (const bool is_name : {true, false}) {
    for (const auto& [minor, most] : {std::pair{uint8_t{12}, 2900u}, {uint8_t{13}, 5900u}}) {
      EXPECT_EQ(rule(minor, is_name, most), std::string());
      EXPECT_EQ(rule(minor, is_name, most + 1), std::string("nested too deep for a compiler"));
    }
  }
}

TEST("a name or a constant may be in too many brackets") {
  const auto rule = [](uint8_t minor, bool is_name, uint32_t brackets) {
    Spelling s(minor);
    NodeId value = is_name ? s.name("x") : s.integer(1);
    for (uint32_t i = 0; i < brackets; ++i) {
      value = s.tree.add(ast::Call{s.name("f"), s.tree.list({value})});
    }
    return s.rule(value);
  };
  for (const bool is_name : {true, false}) {
    for (const auto& [minor, most] : {std::pair{uint8_t{8}, 90u}, {uint8_t{12}, 190u}}) {
      EXPECT_EQ(rule(minor, is_name, most), std::string());
      EXPECT_EQ(rule(minor, is_name, most + 1),
                std::string("brackets are nested too deep for a text"));
    }
  }
}

TEST("parameters and keywords are given once, however many there are") {
  std::vector<std::string> names;
  for (int i = 0; i < 20; ++i) {
    names.push_back("p" + std::to_string(i));
    for (const size_t again : {size_t{0}, names.size() / 2, names.size() - 1}) {
      std::vector<std::string> twice = names;
      Spelling apart;
      EXPECT_EQ(apart.rule(apart.name("x"), twice), std::string());
      twice.push_back(names[again]);
      Spelling s;
      EXPECT_EQ(s.rule(s.name("x"), twice), std::string("two parameters have one name"));
      std::vector<NodeId> keywords;
      for (const std::string& each : twice) {
        keywords.push_back(s.tree.add(ast::keyword{s.tree.intern(each), s.name("x")}));
      }
      const ListId list = s.tree.list(std::move(keywords));
      EXPECT_EQ(s.rule(s.tree.add(ast::Call{s.name("f"), ListId(), list})),
                std::string("a keyword argument is given twice"));
    }
  }
}

TEST("names are looked at wherever they stand") {
  const std::string broken = "no text can name 'a?b'";
  Spelling s;
  EXPECT_EQ(s.rule(s.name("a b")), broken);
  EXPECT_EQ(s.rule(s.binary(s.integer(1), ast::Operator::Add, s.name("a b"))), broken);
  EXPECT_EQ(s.rule(s.tree.add(ast::Attribute{s.name("x"), s.tree.intern("a b")})), broken);
  EXPECT_EQ(s.rule(s.name("__debug__")), std::string("__debug__ is no variable in a text"));
}

}  // namespace
}  // namespace pellucid
