// SPDX-License-Identifier: Apache-2.0
// Evidence: every clue about statements that lines and offsets give, each with the function of
// CPython's compiler that makes it true. Nothing else in plan/ looks at a line or an offset.
//
// The functions named are in Python/compile.c. What emits code is in codegen.c from 3.14 on, as
// codegen_if for compiler_if; what moves blocks is in flowgraph.c from 3.12 on. What they give is a
// clue and no proof: code by other makers only reads worse where it is wrong.
#pragma once

#include <tuple>

#include "structure/plan/context.h"

namespace pellucid::structure {

// --- Where code lies. Statements are emitted in the order of the text (compiler_body); later only
// push_cold_blocks_to_end (3.11+) moves any, and that only handlers.

// Where the code of a block lies, which may start with the mark of a region that was left earlier.
uint32_t code_offset(const Graph& graph, BlockId block);

// Returns true if a block was laid out after another one.
bool is_laid_out_after(const Graph& graph, BlockId block, BlockId other);

// The edge of a branch into the arm that is laid out first. compiler_if emits a jump over the body
// (compiler_jump_if with `next`), then the body: it is the arm without the jump.
uint8_t first_arm(const ir::Block& branch);

// Returns true if control gets from one block to the next by a jump, since what comes next in the
// bytecode is not there. Only an instruction with its prefix may lie between.
bool jumps(const Graph& graph, BlockId from, BlockId next);

// --- `try`. compiler_try_except emits the body, then the clauses, then the `else`.

// Returns true if what the body of a `try` leads to is laid out before its clauses: a `return`
// there is one of the body's own statements (compiler_return emits it where it stands).
bool is_before_clauses(const Graph& graph, BlockId block, BlockId entry);

// Returns true if the jump statement that has led to a block is none of the region's own: it stands
// after the clauses, where the body comes by itself. Of handlers with clauses only.
bool jumps_after_clauses(const Graph& graph, BlockId block, HandlerId handler);

// Returns true if a clause comes to `to` without a `continue`. The POP_EXCEPT at the end of a
// clause has the line of its last statement (compiler_try_except sets none;
// propagate_line_numbers), while compiler_continue emits what it unwinds on its own line.
bool falls_through(const PlanContext& c, BlockId entry, BlockId to, const Scope& scope);

// Returns true if a clause before the block ends in a `break` or `continue` to it: that has a line
// of its own, after that of the clause's last statement (compiler_break, compiler_continue). So has
// a `return`, which needs no loop to leave.
bool is_broken_to(const PlanContext& c, BlockId block);

// --- Loops. compiler_while and compiler_for emit the test, the body, the `else`, and last the
// block that `break` leads to.

// After the last code that was written into the loop, as far as the bytecode says it (3.8's
// compilers and jumps back do); else after the last that comes back.
uint32_t end_of_loop(const PlanContext& c, const Loop& loop);

// The same, but for handlers that were moved after everything else (push_cold_blocks_to_end), if
// only these come back.
uint32_t end_before_handlers(const PlanContext& c, const Loop& loop);

// Where what follows a loop begins: after all of it, and after all of it but moved handlers.
struct LoopEnd {
  uint32_t of_all = 0;
  uint32_t of_rest = 0;

  // Returns true if the block lies after the loop.
  bool is_before(const PlanContext& c, BlockId block) const;
};

// `exhausted`: where the test leads that fails; invalid: there is none. What comes next to a loop
// at the end of another one is that one's header, before both, and what comes next to a handler may
// be, too; but not what ends the handler.
LoopEnd end_of(const PlanContext& c, const Loop& loop, BlockId exhausted);

// Returns true if the other side of a test was written into the loop, and so the test was, too: an
// `if`. A test that was found twice is one of the loop (compiler_while emits it twice, 3.10+).
bool is_tested_inside(const PlanContext& c, const Loop& loop, BlockId out_of);

// Of several places that a loop is left for: the one that follows the loop has the greatest rank.
std::tuple<bool, uint32_t> rank_after_loop(const Graph& graph, BlockId place, bool falls_there);

// --- `if` in a loop.

// Returns true if the jump at the end of a block has a line of its own, after that of its last
// item: a `continue` (compiler_continue). The jump back at the end of a loop's body has the line of
// the statement before it.
bool jumps_on_own_line(const Graph& graph, BlockId block);

}  // namespace pellucid::structure
