// SPDX-License-Identifier: Apache-2.0
// Short ways to write syntax trees by hand, for the printer's tests.
#pragma once

#include <string>
#include <vector>

#include "ast/tree.h"
#include "print/print.h"

namespace pellucid::print {

struct TreeMaker {
  object::Module module;
  ast::Tree tree{module};
  Style style{{3, 8}};

  ast::NodeId name(std::string_view id) { return tree.add(ast::Name{tree.intern(id)}); }
  ast::NodeId constant(object::Const value) {
    return tree.add(ast::Constant{module.add(std::move(value))});
  }
  object::ConstId int_value(int64_t value) {
    object::Const result;
    result.kind = object::ConstKind::Int;
    result.integer = value;
    return module.add(std::move(result));
  }
  ast::NodeId integer(int64_t value) { return tree.add(ast::Constant{int_value(value)}); }
  object::ConstId text_value(std::string_view value) {
    object::Const result;
    result.kind = object::ConstKind::Str;
    result.text = tree.intern(value);
    return module.add(std::move(result));
  }
  ast::NodeId text(std::string_view value) { return tree.add(ast::Constant{text_value(value)}); }
  ast::NodeId collection(object::ConstKind kind, std::vector<object::ConstId> items) {
    object::Const result;
    result.kind = kind;
    result.items = std::move(items);
    return constant(std::move(result));
  }
  ast::NodeId binary(ast::NodeId left, ast::Operator op, ast::NodeId right) {
    return tree.add(ast::BinOp{left, static_cast<uint32_t>(op), right});
  }
  ast::NodeId compare(ast::NodeId left, ast::CmpOperator op, ast::NodeId right) {
    const uint32_t ops[] = {static_cast<uint32_t>(op)};
    return tree.add(ast::Compare{left, tree.numbers(ops), tree.list({right})});
  }
  ast::NodeId statement(ast::NodeId value, int32_t line = -1) {
    return tree.add(ast::Expr{value}, ast::Where{line, 0});
  }
  ast::NodeId field(ast::NodeId value) { return tree.add(ast::FormattedValue{value, 0, {}}); }

  Source source(ast::NodeId root) {
    ast::check(tree, root);
    return to_source(tree, root, style);
  }
  std::string print(ast::NodeId root) { return source(root).text; }
};

}  // namespace pellucid::print
