// SPDX-License-Identifier: Apache-2.0
#include "polish/polish.h"

#include "polish/rewrites.h"

namespace pellucid::polish {

namespace {

// What the rewrites of expressions look at: one walk finds it for all of them.
bool may_be_rewritten(ast::Kind kind) {
  switch (kind) {
    case ast::Kind::If:
    case ast::Kind::While:
    case ast::Kind::Assert:
    case ast::Kind::IfExp:
    case ast::Kind::comprehension:
    case ast::Kind::UnaryOp:
    case ast::Kind::NamedExpr:
    case ast::Kind::JoinedStr:
    case ast::Kind::FormattedValue:
    case ast::Kind::Interpolation:
      return true;
    default:
      return false;
  }
}

}  // namespace

ast::ListId run(ast::Tree& tree, ast::ListId body, Body kind, const Compiler& compiler,
                const Source& source) {
  Statements statements(tree.items(body).begin(), tree.items(body).end());
  const bool is_function = kind != Body::Block;
  // What becomes an expression stays as it is read.
  const auto columns =
      kind == Body::Expression ? std::span<const object::Columns>() : source.columns;
  const Starts starts(tree, statements, columns, source.first_line);
  // While the jumps are there that it looks for.
  chain_elif(tree, statements);
  // What is copied hides where the arms of an `if` end.
  join_ends(tree, statements);
  end_try(tree, statements, starts);
  // Instead of what is a guess where nothing is known; it leaves jumps where control goes anyway.
  lay_out(tree, statements, is_function, starts);
  // Before what looks for bodies of one statement.
  drop_tail_jumps(tree, statements, kind, compiler.copies_exits, starts);
  // Before anything walks what is nested without need.
  flatten_rows(tree, statements, is_function, starts);
  // Needs bodies of one statement.
  join_try(tree, statements);
  join_with(tree, statements);
  // Statements of one line that stand side by side only now.
  join_lines(tree, statements);
  // Expressions last: which of them stay is known.
  const std::vector<ast::NodeId> nodes = own_nodes(tree, statements, may_be_rewritten);
  negate_comparisons(tree, nodes, compiler.looks_into_walrus);
  // Counts the words of what is written by now.
  join_negations(tree, nodes, starts);
  if (compiler.makes_f_strings_of_percent) percent_formats(tree, nodes);
  // After all that looks at what a body ends with.
  if (compiler.leaves_dropped && kind != Body::Expression) {
    keep_dropped_constants(tree, statements);
  }
  return tree.list(statements);
}

}  // namespace pellucid::polish
