// SPDX-License-Identifier: Apache-2.0
// polish: the rewrites, one per file. Each takes the statements or all nodes of one body, which
// compile to the same code afterwards. `outline` has the lists of that body.
#pragma once

#include "polish/lists.h"
#include "polish/polish.h"
#include "polish/starts.h"

namespace pellucid::polish {

// `try: (try: a except: b) finally: c`  ->  `try: a except: b finally: c`
void join_try(ast::Tree& tree, Statements& body, Outline& outline, const Starts& starts);

// `with a: with b: c`, written on one line or as the columns show  ->  `with a, b: c`
void join_with(ast::Tree& tree, const Statements& body, Outline& outline, const Starts& starts);

// `if a: if b: c`, if the columns show that it was one test  ->  `if a and b: c`
void join_conditions(ast::Tree& tree, const Statements& body, Outline& outline,
                     const Starts& starts);

// `del a` and `del b`, `import a` and `import b` of one line  ->  `del a, b`, `import a, b`
void join_lines(ast::Tree& tree, Statements& body, Outline& outline);

// `not a is b`, `not a in b`  ->  `a is not b`, `a not in b`, where the compiler does the same
void negate_comparisons(ast::Tree& tree, const std::vector<ast::NodeId>& nodes,
                        bool looks_into_walrus);

// `f'{a!s}: {b!r}'`  ->  `'%s: %r' % (a, b)`, if the compiler makes the same code of both
void percent_formats(ast::Tree& tree, const std::vector<ast::NodeId>& nodes);

// `''.join([f'{a}', 'b', ...])` of many parts  ->  `f'{a}b...'`
void join_long_f_strings(ast::Tree& tree, const Statements& body);

// `else: if a: return b` and `return c` after it  ->  `elif a: return b else: return c`
void chain_elif(ast::Tree& tree, Statements& body, Outline& outline);

// `if a: b; x` and x after it, with both x on one line  ->  `if a: b` and x after it
void drop_repeated_ends(ast::Tree& tree, Statements& body, Outline& outline, const Starts& starts);
// The same for one statement and those that follow it.
void drop_copies(ast::Tree& tree, ast::NodeId statement, std::span<const ast::NodeId> rest,
                 const Starts& starts);

// `try: a; return 1 except: b`, where the `return` was written after b  ->  `else: return 1`
void end_try(ast::Tree& tree, Statements& body, const Starts& starts);

// `if a: b; c else: raise`, where c was written after the `else`  ->  `if a: b else: raise` and c
void end_if(ast::Tree& tree, Statements& body, Outline& outline);

// `if a and b` in a comprehension, which the columns show to have been two tests  ->  `if a if b`
void split_filters(ast::Tree& tree, const std::vector<ast::NodeId>& nodes, const Starts& starts);

// `not a or not b`  ->  `not (a and b)`, by the columns; `not (not a or not b)`  ->  `a and b`
void join_negations(ast::Tree& tree, const std::vector<ast::NodeId>& nodes, const Starts& starts);

// `while True: if a: break` and `return b` after it, which the columns show to have been inside
//  ->  `while True: if a: return b`
void take_inside(ast::Tree& tree, Statements& body, Outline& outline, bool is_function,
                 const Starts& starts);

// `return b if a else c`, with a written before b  ->  `if a: return b` and `return c`
void split_returns(ast::Tree& tree, Statements& body, Outline& outline, const Starts& starts);

// `assert not a or b`, which the columns show to have been two tests  ->  `if a: assert b`
void split_asserts(ast::Tree& tree, Statements& body, bool is_function, const Starts& starts);

// `if a or b: continue`, which the columns show to have been two tests  ->  `if a: continue` and
// `if b: continue`; the same of `while`
void split_tests(ast::Tree& tree, Statements& body, Outline& outline, bool is_function,
                 const Starts& starts);

// `while True: if a: b; continue` and c, which the columns show to have been a loop  ->
// `while True: while a: b` and c
void nest_loops(ast::Tree& tree, const Statements& body, Outline& outline, const Starts& starts);

// `else` bodies or statements after them, `if a and b` or `if a: if b`: as the columns show.
void lay_out(ast::Tree& tree, Statements& body, bool is_function, const Starts& starts);

// `except E: pass` and `else` at the end of a loop's body  ->  `except E: continue` and what is
// after it, where code that never runs shows the `continue`; any jump that has left its place
void write_jumps(ast::Tree& tree, Statements& body, bool is_function, const Starts& starts);

// `while a and not b: c`, where code before 3.10 shows a `break`  ->  `while a: if b: break` and c;
// `if a: b` where it shows an `else`  ->  `else: pass`
void write_breaks(ast::Tree& tree, const Statements& body, Outline& outline, const Starts& starts);

// The statement after an `if` or `try` that never falls through  ->  its `else` or `elif`, where
// there are lines but no columns and most code has it so.
void lay_out_by_lines(ast::Tree& tree, Statements& body, bool is_function, const Starts& starts);

// `0 if a else 0` at the end of a body, whose dropped constants are loaded  ->  lines of `pass`
// after it
void keep_dropped_constants(ast::Tree& tree, Statements& body);

// `continue` at the end of a loop's body, `return` at the end of a function's  ->  nothing
void drop_tail_jumps(ast::Tree& tree, Statements& body, Outline& outline, Body kind,
                     bool copies_exits, const Starts& starts);

// `if False: yield` and `return` at the end  ->  `return` and `yield`
void yield_at_end(ast::Tree& tree, Statements& body);

// `if not a: b`, with the place of a `pass` or `continue` before b  ->  `if a: pass else: b`; the
// `pass` at the end of a list that has left its place
void write_arms(ast::Tree& tree, Statements& body, bool is_function, const Starts& starts);

// `match a: case b: c`, with the places of a `case _: pass` after it  ->  that case, too
void write_last_cases(ast::Tree& tree, const Statements& body, Outline& outline,
                      const Starts& starts);

// The `pass` or `...` before a statement that has left a NOP
void write_passes(ast::Tree& tree, Statements& body, const Starts& starts);

// The same for another constant, as a comment: which constant it was, nothing shows
void write_lost_constants(ast::Tree& tree, Statements& body, const Starts& starts);

// What the columns show to have been in a statement, for a comment (`ast::Loss`)
void note_lost(ast::Tree& tree, Statements& body, bool is_function, const Starts& starts);

// `if a: (b; if c: (d; if e: ...))` at the end of a loop's or a function's body  -> `if not a:
// continue`, b, `if not c: continue`, ...
void flatten_rows(ast::Tree& tree, Statements& body, bool is_function);

// `global a, b` at the start of a function  ->  where there is a line for it
void place_names(ast::Tree& tree, Statements& body, const Starts& starts);

// `while True:`  ->  `while 1:`, by the width of the test or the constants of the code
void write_ones(ast::Tree& tree, const Statements& body, Outline& outline, const Starts& starts);

// `yield`, as wide as `yield None`  ->  `yield None`
void write_yielded_nones(ast::Tree& tree, const std::vector<ast::NodeId>& nodes,
                         const Starts& starts);

// `a in (1,)`, as wide as `a in [1]`  ->  `a in [1]`
void write_lists_of_one(ast::Tree& tree, const std::vector<ast::NodeId>& nodes,
                        const Starts& starts);

// `(a,) = b`, as wide as `[a] = b`  ->  `[a] = b`
void write_list_targets(ast::Tree& tree, const std::vector<ast::NodeId>& nodes,
                        const Starts& starts);

// A body of a class without statements, but for a docstring: `pass`, `...` or nothing at its end.
void write_end_of_block(ast::Tree& tree, Statements& body, const Starts& starts);

}  // namespace pellucid::polish
