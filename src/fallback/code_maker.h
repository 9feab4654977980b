// SPDX-License-Identifier: Apache-2.0
// CodeMaker: small pieces of syntax for generated code.
#pragma once

#include <string_view>
#include <vector>

#include "ast/tree.h"
#include "structure/scopes/bound_names.h"

namespace pellucid::fallback {

using namespace structure;  // shared by both ways of making a body

class CodeMaker {
 public:
  using Nodes = std::vector<ast::NodeId>;

  CodeMaker(ast::Tree& tree, BoundNames& bound) : tree_(tree), bound_(bound) {}

  ast::Where at;  // of the code that is made

  template <typename T>
  ast::NodeId add(const T& node) {
    return tree_.add(node, at);
  }
  ast::NodeId name(Symbol symbol) { return add(ast::Name{symbol}); }
  ast::NodeId none();
  ast::NodeId truth(bool value);
  ast::NodeId integer(int64_t value);
  ast::NodeId text(std::string_view value);
  // Returns a builtin, by whatever expression the names of the module leave it reachable.
  ast::NodeId builtin(std::string_view what);
  ast::NodeId attribute(ast::NodeId object, std::string_view attr);
  ast::NodeId call(ast::NodeId function, const Nodes& args);
  ast::NodeId compare(ast::NodeId left, ast::CmpOperator op, ast::NodeId right);
  ast::NodeId tuple(const Nodes& elements) {
    return tree_.add(ast::Tuple{tree_.list(elements)}, at);
  }
  ast::NodeId list(const Nodes& elements = {}) {
    return tree_.add(ast::List{tree_.list(elements)}, at);
  }

  ast::NodeId assign(ast::NodeId target, ast::NodeId value) {
    return tree_.add(ast::Assign{tree_.list({target}), value}, at);
  }
  ast::NodeId assign(Symbol target, ast::NodeId value) { return assign(name(target), value); }
  // a = b = c = value
  ast::NodeId assign_all(const std::vector<Symbol>& targets, ast::NodeId value);
  ast::NodeId delete_all(const std::vector<Symbol>& names);
  ast::NodeId expression(ast::NodeId value) { return tree_.add(ast::Expr{value}, at); }
  ast::NodeId if_else(ast::NodeId test, const Nodes& body, const Nodes& orelse = {}) {
    return tree_.add(ast::If{test, tree_.list(body), tree_.list(orelse)}, at);
  }
  ast::NodeId forever(const Nodes& body) {
    return tree_.add(ast::While{truth(true), tree_.list(body), {}}, at);
  }
  ast::NodeId break_loop() { return tree_.add(ast::Break{}, at); }
  ast::NodeId raise(ast::NodeId exception = {}) { return tree_.add(ast::Raise{exception, {}}, at); }
  // `is_star`: the handlers are `except*`.
  ast::NodeId try_except(const Nodes& body, const Nodes& handlers, bool is_star = false) {
    const uint32_t star = is_star ? 1 : 0;
    return tree_.add(ast::Try{tree_.list(body), tree_.list(handlers), {}, {}, star}, at);
  }
  ast::NodeId try_finally(const Nodes& body, const Nodes& finalbody) {
    return tree_.add(ast::Try{tree_.list(body), {}, {}, tree_.list(finalbody), 0}, at);
  }
  ast::NodeId handler(ast::NodeId type, Symbol name, const Nodes& body) {
    return tree_.add(ast::ExceptHandler{type, name, tree_.list(body)}, at);
  }
  // match subject: case pattern: matched; case _: otherwise
  ast::NodeId match(ast::NodeId subject, ast::NodeId pattern, const Nodes& matched,
                    const Nodes& otherwise);

 private:
  ast::Tree& tree_;
  BoundNames& bound_;
};

}  // namespace pellucid::fallback
