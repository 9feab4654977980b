// SPDX-License-Identifier: Apache-2.0
// polish: the columns in which the statements of one body start, as far as the bytecode has them.
//
// From 3.11 on, instructions have the columns of their expression or statement. A part without an
// instruction, such as the `if` before a test, is counted back from one that has columns. That may
// be off by a parenthesis, or by a `not` that only our reading has: columns may decide how a text
// reads, never what it means.
#pragma once

#include <span>
#include <vector>

#include "ast/tree.h"
#include "object/columns.h"
#include "polish/lists.h"

namespace pellucid::polish {

class Starts {
 public:
  static constexpr int32_t kUnknown = -1;

  // `columns`: of each code unit of the body's code, which starts on `first_line`; empty: nothing
  // is known.
  Starts(const ast::Tree& tree, const Statements& body, std::span<const object::Columns> columns,
         int32_t first_line)
      : tree_(tree), body_(body), columns_(columns), first_line_(first_line) {}

  // Returns the column in which a statement starts. An `elif` seems to start two columns further
  // right than it does: its test is taken to follow an `if`.
  int32_t of(ast::NodeId statement) const;

  // Returns the column in which an `if` with this test would start.
  int32_t of_test(ast::NodeId test) const;

  // The statement that was written where control leaves by a jump. A `pass` at the end of a
  // function leaves only its place, in the `return` that the compiler adds.
  enum class Jump : uint8_t { Unknown, None, Return, ReturnNone, Pass, Ellipsis, Break, Continue };
  // `before`: the statement before the jump, or the one in which it is the only statement; invalid
  // if there is none.
  Jump jump(ast::NodeId statement, ast::NodeId before) const;

  // Returns the number of columns between two operands, including a `not` before the second one;
  // kUnknown if they are on different lines.
  int32_t gap(ast::NodeId before, ast::NodeId after) const;

  bool known() const { return !columns_.empty(); }

  // Returns the line in which an expression starts.
  int32_t line_of(ast::NodeId expression) const { return leftmost(expression).line; }

 private:
  struct At {
    int32_t line = -1;
    int32_t column = kUnknown;
  };

  bool has_more_than_jumps(int32_t line) const;
  object::Columns own(ast::NodeId node) const;
  At at(ast::NodeId node) const;
  At leftmost(ast::NodeId expression) const;
  At leftmost_target(ast::NodeId target) const;
  ast::NodeId without_not(ast::NodeId node) const;
  bool is_negated_outside(ast::NodeId comparison, bool negated) const;
  int32_t width(ast::NodeId statement) const;
  int32_t keyword_before(ast::NodeId expression, int32_t keyword) const;
  int32_t of_return(ast::NodeId statement) const;
  int32_t of_simple(ast::ListId list) const;
  int32_t of_branch(ast::NodeId test, ast::ListId body, int32_t keyword) const;
  int32_t of_try(ast::NodeId statement) const;

  const ast::Tree& tree_;
  Statements body_;
  std::span<const object::Columns> columns_;
  int32_t first_line_;
  mutable std::vector<int32_t> lines_;  // lines with more than a jump, sorted; filled on demand
};

}  // namespace pellucid::polish
