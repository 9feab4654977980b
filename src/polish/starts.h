// SPDX-License-Identifier: Apache-2.0
// polish: the columns in which the statements of one body start, as far as the bytecode has them.
//
// From 3.11 on, instructions have the columns of their expression or statement. A part without an
// instruction, such as the `if` before a test, is counted back from one that has columns. That may
// be off by a parenthesis, or by a `not` that only our reading has: columns may decide how a text
// reads, never what it means.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "ast/tree.h"
#include "object/places.h"
#include "polish/headers.h"
#include "polish/lists.h"
#include "polish/polish.h"
#include "polish/unit_ends.h"

namespace pellucid::polish {

class Starts {
 public:
  static constexpr int32_t kUnknown = -1;

  // Of the body as it is now. Without columns nothing is known.
  Starts(const ast::Tree& tree, const Statements& body, const Source& source)
      : tree_(tree),
        body_(body),
        source_(source),
        places_(source.places),
        ends_(tree, source.places.size()) {}

  // Returns the column in which a statement starts. An `elif` seems to start two columns further
  // right than it does: its test is taken to follow an `if`.
  int32_t of(ast::NodeId statement) const;

  // Returns the column in which an `if` with this test would start.
  int32_t of_test(ast::NodeId test) const;

  // Returns the column in which the statements of a list start, as far as one of them has it.
  int32_t of_list(ast::ListId list) const;

  // Returns true if a statement that is the only one in the body of another one was not written in
  // it: it does not start further right, or what it holds does not. `inside`: its own body.
  bool is_written_outside(ast::NodeId statement, ast::NodeId owner, ast::ListId inside) const;

  // Returns true if the `try` at the start of another one, which has no clauses, was written in it:
  // it starts no further left than the body of the other one's `finally`.
  bool is_nested_try(ast::NodeId statement) const;

  // The statement that was written where control leaves by a jump. A `pass` at the end of a
  // function leaves only its place, in the `return` that the compiler adds.
  enum class Jump : uint8_t { Unknown, None, Return, ReturnNone, Pass, Ellipsis, Break, Continue };
  // `before`: the statement before the jump, or the one in which it is the only statement; invalid
  // if there is none.
  Jump jump(ast::NodeId statement, ast::NodeId before) const;

  // Returns the number of columns between two operands, including a `not` and a bracket before the
  // second one; kUnknown if they are on different lines.
  int32_t gap(ast::NodeId before, ast::NodeId after) const;

  // Returns the place where an operand starts, without a `not` before it; unknown columns for an
  // operation.
  struct At {
    int32_t line = -1;
    int32_t column = kUnknown;
  };
  At of_operand(ast::NodeId operand) const;

  // Returns the place where an expression starts, with each `not` before it.
  At leftmost(ast::NodeId expression) const;

  bool known() const { return places_.known(); }
  const object::Places& places() const { return places_; }

  // Returns the place of the constant test of a loop, which only a NOP has (3.12+).
  object::Columns of_constant_test(ast::NodeId loop) const;

  // Returns true if the first test in a loop that starts in `column` comes after the place of an
  // endless loop's test, which is that of the whole loop in 3.11.
  bool is_in_endless_loop(ast::NodeId test, int32_t column) const;

  // Returns the place of what the body ends in: a `pass` or `...` there leaves nothing else.
  object::Columns of_end() const { return places_.columns(places_.size() - 1); }

  // Returns the statement that was written as the body of an `except` clause without a name, by
  // the place of what leaves it; None: the body is empty no more, or that is not known.
  Jump in_clause(ast::NodeId handler) const;

  // Returns the place of the instruction that a node comes from.
  object::Columns own(ast::NodeId node) const;

  // The code unit after those that a node compiles to, and its place: that of a jump or of a NOP,
  // if nothing else is left of what was written there.
  struct Next {
    uint32_t unit = 0;
    object::Columns columns = {};  // unknown: there is no such unit
  };
  Next after(ast::NodeId node) const;

  // Returns the same after the test of an `if`, whose jump has the place of the whole `if` in 3.11.
  Next after_test(ast::NodeId branch) const;

  // Returns the code unit of the instruction that a node comes from; kNoUnit: it is not known.
  static constexpr uint32_t kNoUnit = UnitEnds::kNoUnit;
  uint32_t unit_of(ast::NodeId node) const { return ends_.unit_of(node); }

  // Returns the first code unit of the nodes of a list that have one; kNoUnit: none has.
  uint32_t first_unit(std::span<const ast::NodeId> items) const;

  // Returns true if any jump, return, raise or NOP has the width of a `pass` or `continue`.
  bool has_places_of_jumps() const;

  // Returns true if the constants show `while 1` where there is no place of the test.
  bool has_endless_ones() const { return source_.has_endless_ones; }

  int32_t first_line() const { return source_.first_line; }

  // Returns the code that never runs; null: the compiler leaves none.
  const object::LeftCode* left() const {
    return source_.left != nullptr && source_.left->is_known ? source_.left : nullptr;
  }

  // Returns the line in which an expression starts.
  int32_t line_of(ast::NodeId expression) const { return leftmost(expression).line; }

 private:
  const Header& header() const;
  Next next_place(uint32_t unit) const;

  bool has_more_than_jumps(int32_t line) const;
  bool is_written_as_none(int32_t line, int32_t column) const;
  bool is_written_after_header(int32_t column) const;
  At at(ast::NodeId node) const;
  bool is_swap(const ast::Assign& assign) const;
  int32_t of_assign(const ast::Assign& assign) const;
  ast::NodeId without_not(ast::NodeId node) const;
  bool is_negated_outside(ast::NodeId comparison, bool negated) const;
  int32_t width(ast::NodeId statement) const { return own(statement).width(); }
  int32_t keyword_before(ast::NodeId expression, int32_t keyword) const;
  uint32_t unit_of_constant(uint32_t unit) const;
  int32_t of_return(ast::NodeId statement) const;
  int32_t of_simple(ast::ListId list) const;
  int32_t of_branch(ast::NodeId test, ast::ListId body, int32_t keyword) const;
  int32_t of_endless(ast::NodeId loop) const;
  int32_t of_try(ast::NodeId statement) const;
  int32_t found(ast::NodeId statement) const;

  // What of() found: several steps ask for the same statements, and few change the tree.
  struct Found {
    ast::NodeId statement;
    int32_t column = kUnknown;
    size_t changes = 0;  // of the tree, then
  };

  const ast::Tree& tree_;
  Statements body_;
  Source source_;
  const object::Places& places_;
  mutable UnitEnds ends_;
  mutable std::array<Found, 32> found_{};  // by the last bits of the node's number
  mutable std::optional<Header> header_;   // once it was asked for
  mutable std::vector<int32_t> lines_;     // lines with more than a jump, sorted; filled on demand
};

}  // namespace pellucid::polish
