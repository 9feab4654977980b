#include "polish/polish.h"

#include "polish/rewrites.h"

namespace pellucid::polish {

ast::ListId run(ast::Tree& tree, ast::ListId body, bool is_function, const Compiler& compiler) {
  Statements statements(tree.items(body).begin(), tree.items(body).end());
  // While the jumps are there that it looks for.
  chain_elif(tree, statements);
  // Before what looks for bodies of one statement.
  drop_tail_jumps(tree, statements, compiler.copies_exits);
  // Before anything walks what is nested without need.
  flatten_rows(tree, statements, is_function);
  // Needs bodies of one statement.
  join_try(tree, statements);
  join_with(tree, statements);
  // Statements of one line that stand side by side only now.
  join_lines(tree, statements);
  // Expressions last: which of them stay is known.
  negate_comparisons(tree, statements);
  if (compiler.makes_f_strings_of_percent) percent_formats(tree, statements);
  return tree.list(statements);
}

}  // namespace pellucid::polish
