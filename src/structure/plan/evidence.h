// SPDX-License-Identifier: Apache-2.0
// Evidence: every clue about statements that lines and offsets give, each with the function of
// CPython's compiler that makes it true. Nothing else in plan/ looks at a line or an offset.
//
// The functions named are in Python/compile.c. Those that emit code are in codegen.c from 3.14 on,
// as codegen_if for compiler_if; those that move blocks are in flowgraph.c from 3.12 on. They give
// clues and no proof: code by other compilers only reads worse where a clue is wrong.
#pragma once

#include <optional>
#include <tuple>
#include <vector>

#include "structure/plan/context.h"

namespace pellucid::structure {

// --- Layout. Statements are emitted in the order of the text (compiler_body); later only
// push_cold_blocks_to_end (3.11+) moves code, and only handlers.

// Returns the offset of a block's code, past a leading marker of a region that was left earlier.
uint32_t code_offset(const Graph& graph, BlockId block);

// Returns true if a block was laid out after another one.
bool is_laid_out_after(const Graph& graph, BlockId block, BlockId other);

// Returns the edge of a branch into the arm that is laid out first. compiler_if emits a jump over
// the body (compiler_jump_if with `next`), then the body: it is the fall-through.
uint8_t first_arm(const ir::Block& branch);

// Returns true if control gets from one block to the next by a jump: the next block is not laid out
// next. Only an instruction with its prefix may be in between.
bool jumps(const Graph& graph, BlockId from, BlockId next);

// --- `try`. compiler_try_except emits the body, then the clauses, then the `else`.

// Returns true if a block that the body of a `try` leads to is laid out before its clauses: a
// `return` there is a statement of the body (compiler_return emits it in place).
bool is_before_clauses(const Graph& graph, BlockId block, BlockId entry);

// Returns true if the jump statement that has led to a block is not in the region: it is after the
// clauses, where the body arrives by itself. For handlers with clauses only.
bool jumps_after_clauses(const Graph& graph, BlockId block, HandlerId handler);

// Returns true if the code that only the body of a `try` leads to was written in its `else`, false
// if after the statement; nothing if the bytecode does not tell. The NOP of a `try` has the place
// of the whole statement (compiler_try_except, 3.11+).
std::optional<bool> is_in_else(const PlanContext& c, HandlerId handler, BlockId code);

// Returns true if a clause reaches `to` without a `continue`. The POP_EXCEPT at the end of a clause
// has the line of its last statement (compiler_try_except sets none; propagate_line_numbers), while
// compiler_continue emits what it unwinds on its own line.
bool falls_through(const PlanContext& c, BlockId entry, BlockId to, const Scope& scope);

// Returns true if a clause before the block ends in a `break` or `continue` to it: that has a
// separate line, after that of the clause's last statement (compiler_break, compiler_continue). So
// has a `return`, which needs no loop to leave.
bool is_broken_to(const PlanContext& c, BlockId block);

// Returns true if a block returns a constant from inside the statement of a `finally`: what was
// written after it has lines after those of the `finally` body. (From 3.10 on the `return` has the
// line of the last code of that body, a copy of which comes before it: compiler_unwind_fblock.)
bool is_returned_before(const PlanContext& c, HandlerId handler, BlockId block);

// --- Loops. compiler_while and compiler_for emit the test, the body, the `else`, and last the
// block that `break` leads to.

// Returns the offset after the last code that was written into the loop, where the bytecode shows
// it (3.8's compilers and back edges do); else after the last block of the loop.
uint32_t end_of_loop(const PlanContext& c, const Loop& loop);

// Does the same without handlers that were moved after everything else (push_cold_blocks_to_end),
// if only these jump back.
uint32_t end_before_handlers(const PlanContext& c, const Loop& loop);

// The offset of the code after a loop: after all of the loop, and after all of it except moved
// handlers.
struct LoopEnd {
  uint32_t of_all = 0;
  uint32_t of_rest = 0;

  // Returns true if the block is after the loop.
  bool is_before(const PlanContext& c, BlockId block) const;
};

// `exhausted`: the target of a failing test; invalid: there is none. The code after a loop at the
// end of another one is the header of that other loop, which is before both. The code after a
// handler may be such a header, too, but the end of the handler is not.
LoopEnd end_of(const PlanContext& c, const Loop& loop, BlockId exhausted);

// Returns true if the other target of a test was written into the loop, and so the test was, too:
// an `if`. A test that was found twice is the loop's (compiler_while emits it twice, 3.10 to 3.13).
bool is_tested_inside(const PlanContext& c, const Loop& loop, BlockId out_of);

// Returns true if a loop goes back on a line before its first one: that of a `while True:`, whose
// other loops have a second test there (compiler_while, 3.10 to 3.13).
bool goes_back_before(const PlanContext& c, const Loop& loop);

// Returns the rank of a place that a loop is left for: of several, the one with the greatest rank
// follows the loop.
std::tuple<bool, uint32_t> rank_after_loop(const Graph& graph, BlockId place, bool falls_there);

// Where a `return` or `raise` was written that leaves a loop.
enum class Written : uint8_t { Unknown, Inside, After };

// A short exit after the loop is copied to each `break` (inline_small_exit_blocks, 3.10+), and so
// laid out before code of the loop on lines before its own. Its column tells, too (3.11+): what
// follows a loop starts no further right.
class LoopPlaces {
 public:
  // `is_tested`: the header is the test of a `while`.
  LoopPlaces(const PlanContext& c, const Loop& loop, bool is_tested);
  Written of(BlockId exit) const;

 private:
  // The line of an instruction of the loop, and the least one from it on in the bytecode; what
  // handles exceptions is left out, since it is moved behind everything else.
  struct Line {
    uint32_t offset = 0;
    int32_t line = 0;
  };
  bool has_moved(uint32_t offset, int32_t line) const;
  bool has_own_place(BlockId exit) const;

  const PlanContext& c_;
  const Loop& loop_;
  int32_t own_column_;
  int32_t last_line_ = -1;
  int32_t least_column_;
  std::vector<Line> lines_;
};

// --- `if` in a loop.

// Returns true if the jump at the end of a block has a separate line, after that of its last item:
// a `continue` (compiler_continue). The back edge at the end of a loop's body has the line of the
// statement before it.
bool jumps_on_own_line(const Graph& graph, BlockId block);

}  // namespace pellucid::structure
