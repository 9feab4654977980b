// SPDX-License-Identifier: Apache-2.0
// print: the text of statements while it is written: its lines, the source map, and what is still
// to be printed.
//
// Bodies nest and `elif` chains grow as deep as the input has them, so a stack holds the lines and
// bodies that are still to be printed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ast/tree.h"
#include "print/print.h"
#include "print/writer.h"

namespace pellucid::print {

// What a body belongs to. A class counts as a Module: a blank line follows the docstring of either.
enum class Owner : uint8_t { Block, Function, Module };

struct Step {
  enum What : uint8_t { Body, Line, Handler, Case, Elif } what;
  Owner owner = Owner::Block;       // Body
  bool may_have_docstring = false;  // Body: only comments so far
  bool has_docstring = false;       // Body: it was written last
  bool is_empty = true;             // Body: nothing so far but comments
  uint32_t id = 0;                  // a list (Body) or a node
  uint32_t index = 0;               // Body: the next statement
  uint32_t depth = 0;
  const char* text = "";   // Line, Handler
  bool is_inline = false;  // Body: after its header, on the same line
};

inline bool is_definition(const ast::Tree& tree, ast::NodeId id) {
  return tree.is(id, ast::Kind::FunctionDef) || tree.is(id, ast::Kind::ClassDef);
}

struct Page {
  Page(const ast::Tree& from, const Style& wanted);

  // -- pieces of text --

  bool before(int minor) const { return style.version.minor < minor; }
  // Reports that the statement needs a newer version.
  void needs(int minor, const char* what);
  const object::Const& constant(ast::NodeId id) const {
    return tree.module()[tree.as<ast::Constant>(id).value];
  }
  void word(Symbol symbol);
  void expression(ast::NodeId id, Place where);

  // -- lines --

  // Goes to the line where a statement, or a clause with a node, starts. There are at least
  // `blank_lines` before it, unless lines are kept.
  void place(ast::NodeId id, uint32_t depth, ast::NodeId previous, uint32_t blank_lines = 0);
  void skip_lines(uint32_t count);
  // Continues after the text that was written last.
  void append_to_line(const char* separator);
  // Moves a `pass` to its usual place, a separate line, if the text after it leaves room. A `pass`
  // has no instruction, and so no line: at first it is written after its header.
  void settle_pass();
  void begin_line(uint32_t depth);
  void end_line();
  // Ends the last line with a comment on what is lost of its statements.
  void settle_losses();
  void map_line(ast::NodeId id);

  // -- steps: the header of a compound statement is written at once, the rest becomes steps --

  void push(Step::What what, uint32_t id, uint32_t depth, const char* text = "");
  void body(ast::ListId list, uint32_t depth, Owner owner = Owner::Block);
  void clause(const char* text, ast::ListId list, uint32_t depth);
  // Ends a header; its body follows, on the same line if it was written there.
  void end_header(ast::ListId list, uint32_t depth, Owner owner = Owner::Block);

  const ast::Tree& tree;
  const Style& style;
  Source source = {};
  std::string& out;
  Writer writer;
  std::vector<Step> work = {};
  ast::Where where = {};  // of the current statement, for problems
  size_t line_start = 0;  // of the line being written
  uint32_t line_depth = 0;
  uint32_t line = 1;                   // its number
  std::vector<ast::Loss> losses = {};  // by statement
  std::string lost = {};               // the comment on the last line
  bool ended_definition = false;       // on the last line
  size_t pass_at = 0;  // where the ` pass` of the last body without instructions begins
  uint32_t pass_depth = 0;
};

}  // namespace pellucid::print
