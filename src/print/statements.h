// SPDX-License-Identifier: Apache-2.0
// print: statements, their places in the text, and the source map.
//
// Bodies nest and `elif` chains grow as deep as the input has them, so a stack holds the lines and
// bodies that are still to be printed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ast/tree.h"
#include "object/identifiers.h"
#include "print/expressions.h"
#include "print/print.h"

namespace pellucid::print {

class Statements {
 public:
  Statements(const ast::Tree& tree, const Style& style);

  Source run(ast::NodeId root);

 private:
  struct Step {
    enum What : uint8_t { Body, Line, Handler, Case, Elif } what;
    bool may_have_docstring = false;  // Body: only comments so far
    bool is_empty = true;             // Body: nothing so far but comments
    uint32_t id = 0;                  // a list (Body) or a node
    uint32_t index = 0;               // Body: the next statement
    uint32_t depth = 0;
    const char* text = "";   // Line, Handler
    bool is_inline = false;  // Body: after its header, on the same line
  };

  void print(ast::NodeId root);
  void run_steps();
  void step(const Step& step);
  void next_in_body(Step step);
  void statement(ast::NodeId id, uint32_t depth);

  // Compound statements (compound.cpp): the header is written at once, the rest becomes steps.
  void push(Step::What what, uint32_t id, uint32_t depth, const char* text = "");
  void body(ast::ListId list, uint32_t depth, bool may_have_docstring = false);
  void clause(const char* text, ast::ListId list, uint32_t depth);
  // Ends a header; its body follows, on the same line if it was written there.
  void end_header(ast::ListId body_list, uint32_t depth, bool may_have_docstring = false);
  bool stands_on_this_line(ast::ListId list) const;
  void function(ast::NodeId id, uint32_t depth);
  void class_definition(ast::NodeId id, uint32_t depth);
  void decorators(ast::ListId list, uint32_t depth);
  void for_loop(ast::NodeId id, uint32_t depth);
  void while_loop(ast::NodeId id, uint32_t depth);
  void conditional(ast::NodeId id, uint32_t depth, const char* keyword);
  void with(ast::NodeId id, uint32_t depth);
  void with_item(ast::NodeId id, bool is_only_one);
  void try_statement(ast::NodeId id, uint32_t depth);
  void handler(ast::NodeId id, uint32_t depth, const char* keyword);
  void match(ast::NodeId id, uint32_t depth);
  void match_case(ast::NodeId id, uint32_t depth);

  // Simple statements (simple.cpp).
  void simple(ast::NodeId id, uint32_t depth);
  void assign(ast::NodeId id);
  void type_alias(ast::NodeId id);
  void augmented_assign(ast::NodeId id);
  void annotated_assign(ast::NodeId id);
  void delete_targets(ast::NodeId id);
  void raise(ast::NodeId id);
  void assertion(ast::NodeId id);
  void import_from(ast::NodeId id);
  void lazily(uint32_t is_lazy);
  void aliases(ast::ListId names);
  void names(ast::ListId list);
  void comment(std::string_view text, uint32_t depth);
  void unstructured(ast::NodeId id, uint32_t depth);
  bool is_docstring(ast::NodeId id) const;
  void docstring(ast::NodeId id, uint32_t depth, ast::NodeId next);
  void put_docstring(const std::string& literal, ast::NodeId id, ast::NodeId next);

  // Lines.
  void place(ast::NodeId id, uint32_t depth, ast::NodeId previous);
  void behind(const char* separator);
  void settle_pass();
  bool can_share_a_line(ast::NodeId id) const;
  void begin_line(uint32_t depth);
  void end_line();
  void map_line(ast::NodeId id);

  bool before(int minor) const { return style_.version.minor < minor; }
  void needs(int minor, const char* what);
  const object::Const& constant(ast::NodeId id) const {
    return tree_.module()[tree_.as<ast::Constant>(id).value];
  }
  void word(Symbol symbol) {
    const std::string_view name = tree_.text(symbol);
    // An import may have dots, and `from . import a` no module.
    const bool is_written_so = name.empty() || name == "*" || object::is_dotted(name);
    out_ += is_written_so ? std::string(name) : object::as_identifier(name);
  }
  void expression(ast::NodeId id, Place where) { expressions_.expression(id, where); }

  const ast::Tree& tree_;
  const Style& style_;
  Source source_;
  std::string& out_;
  Expressions expressions_;
  std::vector<Step> work_;
  ast::Where where_;       // of the current statement, for problems
  size_t line_start_ = 0;  // of the line being written
  uint32_t line_depth_ = 0;
  uint32_t line_ = 1;   // its number
  size_t pass_at_ = 0;  // where the ` pass` of the last body without instructions begins
  uint32_t pass_depth_ = 0;
};

}  // namespace pellucid::print
