// SPDX-License-Identifier: Apache-2.0
#include "polish/polish.h"

#include "polish/ends.h"
#include "polish/rewrites.h"

namespace pellucid::polish {

namespace {

using ast::Kind;

// The expressions that are rewritten, but for tuples that are targets, and the nodes that those
// rewrites look at: one walk finds them for all.
constexpr ast::Kinds kRewritten = {Kind::UnaryOp, Kind::BoolOp, Kind::JoinedStr, Kind::Yield};
constexpr ast::Kinds kLookedAt = {
    Kind::If,      Kind::While,     Kind::Assert,    Kind::IfExp,          Kind::comprehension,
    Kind::UnaryOp, Kind::NamedExpr, Kind::JoinedStr, Kind::FormattedValue, Kind::Interpolation,
    Kind::Yield,   Kind::Assign,    Kind::For,       Kind::withitem,       Kind::Compare};

// The statements with targets.
constexpr ast::Kinds kStores = {Kind::Assign, Kind::For, Kind::With};

// The statements at whose end a jump may have been written that changes nothing.
constexpr ast::Kinds kJumpedOver = {Kind::For, Kind::While, Kind::With, Kind::Try};

// The statements that may have an `else` which was written otherwise.
constexpr ast::Kinds kChoices = {Kind::If, Kind::Try};

// The statements whose test may have been two.
constexpr ast::Kinds kTests = {Kind::If, Kind::While};

// Returns the nodes of a body with targets that may be tuples, if comprehensions have none.
std::vector<ast::NodeId> stores(const ast::Tree& tree, const Statements& body, Outline& outline) {
  std::vector<ast::NodeId> found;
  for_each_statement(tree, body, outline, kStores, [&](ast::NodeId statement) {
    if (!tree.is(statement, Kind::With)) return found.push_back(statement);
    const auto items = tree.items(tree.as<ast::With>(statement).items);
    found.insert(found.end(), items.begin(), items.end());
  });
  return found;
}

// Rewrites expressions, by their kinds and columns.
void rewrite_expressions(ast::Tree& tree, const Statements& statements, Outline& outline,
                         const Compiler& compiler, const Starts& starts) {
  const ast::Kinds made = tree.made();
  const bool may_have_targets = starts.known() && made.has(Kind::Tuple);
  const bool may_have_lists = starts.known() && made.has(Kind::Compare);
  if (!made.meets(kRewritten) && !may_have_lists &&
      !(may_have_targets && made.has(Kind::comprehension))) {
    if (may_have_targets) write_list_targets(tree, stores(tree, statements, outline), starts);
    return;
  }
  const std::vector<ast::NodeId> nodes = own_nodes(tree, statements, kLookedAt);
  // Where no column tells, the `not` that the compiler would have dropped is a clue.
  if (!starts.known()) join_negations(tree, nodes, starts);
  negate_comparisons(tree, nodes, compiler.looks_into_walrus);
  // Before the words between the operands of one test are counted.
  split_filters(tree, nodes, starts);
  // Counts the words of the text as it is now.
  if (starts.known()) join_negations(tree, nodes, starts);
  if (compiler.makes_f_strings_of_percent) percent_formats(tree, nodes);
  write_yielded_nones(tree, nodes, starts);
  write_lists_of_one(tree, nodes, starts);
  write_list_targets(tree, nodes, starts);
}

}  // namespace

ast::ListId run(ast::Tree& tree, ast::ListId body, Body kind, const Compiler& compiler,
                const Source& source) {
  Statements statements(tree.items(body).begin(), tree.items(body).end());
  const bool is_function = kind != Body::Block;
  const Starts starts(tree, statements, source);
  Outline outline(tree, statements);
  // Most bodies have few kinds of statements, which is known before their lists are looked for.
  const auto has = [&](ast::Kinds kinds) {
    return tree.made().meets(kinds) && outline.kinds().meets(kinds);
  };
  // Before the step that drops the jumps it looks for.
  if (has({Kind::If})) chain_elif(tree, statements, outline);
  if (has({Kind::Try})) end_try(tree, statements, starts);
  // By lines, which tell more than the columns that are looked at next.
  if (has({Kind::If})) end_if(tree, statements, outline);
  // By columns, before the step that arranges what is in one list.
  split_returns(tree, statements, outline, starts);
  if (has({Kind::Assert})) split_asserts(tree, statements, is_function, starts);
  if (has({Kind::While})) nest_loops(tree, statements, outline, starts);
  // What a `with` of several managers holds starts one step further right than the first one.
  if (has({Kind::With})) join_with(tree, statements, outline, starts);
  if (has(kWithLists)) take_inside(tree, statements, outline, is_function, starts);
  // Replaces the guesses of later steps where columns are known; leaves redundant jumps.
  if (has(kChoices)) lay_out(tree, statements, is_function, starts);
  // An end is in one list with its copy only now.
  if (has({Kind::If, Kind::With, Kind::Try})) {
    drop_repeated_ends(tree, statements, outline, starts);
  }
  // Tests are as they were written only now, not those of the opposite arm.
  if (has(kTests)) split_tests(tree, statements, outline, is_function, starts);
  // What follows such a clause may be in an `else` or not, which the next step decides.
  if (has(kJumpedOver)) write_jumps(tree, statements, is_function, starts);
  // What leaves a loop may have an `else`, too.
  if (has(kTests)) write_breaks(tree, statements, outline, starts);
  // The same where only lines are known: whole chains, before jumps are dropped from their ends.
  if (has(kChoices)) lay_out_by_lines(tree, statements, is_function, starts);
  // Before the steps that look for bodies of one statement.
  drop_tail_jumps(tree, statements, outline, kind, compiler.copies_exits, starts);
  // A `return` that is left was written.
  if (kind == Body::Function && tree.made().has(Kind::Yield)) yield_at_end(tree, statements);
  // Before the steps that look at what is alone in an `if`; redundant jumps are gone.
  if (has(kWithLists)) write_arms(tree, statements, is_function, starts);
  // Before the step that reads NOPs as a `pass` of the list around.
  if (has({Kind::Match})) write_last_cases(tree, statements, outline, starts);
  write_passes(tree, statements, starts);
  // Only now is an `if` alone in another one: a redundant jump was after it.
  if (has({Kind::If})) join_conditions(tree, statements, outline, starts);
  // Before the other walks, which would go down needless nesting.
  if (has(kChoices)) flatten_rows(tree, statements, is_function);
  // Needs bodies of one statement.
  if (has({Kind::Try})) join_try(tree, statements, outline, starts);
  // Statements of one line are adjacent only now.
  if (has({Kind::Delete, Kind::Import})) join_lines(tree, statements, outline);
  if (kind == Body::Block) write_end_of_block(tree, statements, starts);
  if (has({Kind::While})) write_ones(tree, statements, outline, starts);
  // After all steps that move statements.
  if (kind == Body::Function && has({Kind::Global, Kind::Nonlocal})) {
    place_names(tree, statements, starts);
  }
  // Before what looks at f-strings.
  if (compiler.joins_long_f_strings) join_long_f_strings(tree, statements);
  // Expressions last: it is decided which of them stay.
  rewrite_expressions(tree, statements, outline, compiler, starts);
  // After all steps that look at the end of a body.
  if (compiler.leaves_dropped && kind != Body::Expression) {
    keep_dropped_constants(tree, statements);
  }
  // Of the tree as it is printed.
  if (source.says_lost) {
    note_lost(tree, statements, is_function, starts);
    write_lost_constants(tree, statements, starts);
  }
  return tree.list(statements);
}

}  // namespace pellucid::polish
