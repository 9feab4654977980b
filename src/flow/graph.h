// SPDX-License-Identifier: Apache-2.0
// flow: the control-flow graph of one code object. Here version differences die.
//
//   Result<Graph> build(const object::Module&, const bytecode::Stream&)      (build.h)
//
// Blocks are straight lines of canonical instructions with one Exit each. What protects a block is
// its Handler, whether 3.8-3.10 said so with a block stack or 3.11+ with an exception table:
//
//   * SETUP_*/POP_BLOCK and table entries have become Block::handler; blocks are split
//     where it changes.
//   * An exception in a block with a handler cuts the stack to Handler::depth, pushes what
//     Handler::pushes says, and goes on at Handler::entry. Without one it leaves the function.
//   * 3.8 finally bodies are subroutines (CALL_FINALLY, END_FINALLY): each way of entering one has
//     become a copy of its own, as 3.9+ compiles them, so EndFinally, CallFinally and friends are
//     gone: END_FINALLY is a Goto in the copy of a normal entry, and a Reraise in the exceptional
//     one.
//   * WITH_CLEANUP_* of 3.8 have become Call (b = 1, three None arguments) or WithExceptStart.
//   * The handler that 3.11+ puts around handlers only to restore the exception state (COPY 3,
//     POP_EXCEPT, RERAISE 1) is gone; its blocks are protected by what protects it, and unwinding
//     restores the state as the block stack of 3.10 does. The same for the StopIteration wrapper
//     that 3.12+ puts around generators, and for CLEANUP_THROW: a SEND loop is one YieldFrom.
//   * The loop that 3.14 puts before `any(...)`, `all(...)` and `tuple(...)` is gone: the call
//     after it does the same.
//
// Blocks are as few as that allows, and shaped alike in all versions:
//
//   * Jumps are threaded over empty blocks. One stays where a loop goes back to a `try` or a `with`
//     from outside of its region (`while True: try: ...`): it heads the loop, the region is within.
//   * A region has the extent of its statement's body. What only leaves it (a Return or a jump of a
//     value computed in it, with nothing but Pop, Copy, Swap, Rot before) belongs to it too.
//   * A loop that starts the function has an empty entry block before it.
//
// Invariants (check()): block 0 is the entry, with an empty stack; nothing leads to it; every block
// is reachable from it, by exits and handlers; blocks lie in the order of their bytecode (copies
// where their origin lies); the stack depth at a block's entry is the same on every way in; no
// instruction of a block but its Exit transfers control; a block's instructions share one handler.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bytecode/stream.h"
#include "flow/compilers.h"

namespace pellucid::flow {

using bytecode::Instr;
using bytecode::Op;
using BlockId = Id<struct BlockTag>;
using HandlerId = Id<struct HandlerTag>;

enum class ExitKind : uint8_t {
  Goto,        // next[0]
  Branch,      // pops a value: next[0] if true, next[1] if false
  BranchNone,  // pops a value: next[0] if it is None, next[1] if not
  ForIter,     // next[0] with the item pushed, next[1] with the iterator popped
  Send,        // next[0] with the yielded value in place of the sent one, next[1] with the result
               // above the iterator, or in its place if instr.b = 1 (3.11)
  Return,      // pops a value
  Raise,       // pops instr.a values
  Reraise,     // pops instr.a slots; instr.b as in ops.def
};

struct Exit {
  ExitKind kind = ExitKind::Goto;
  std::array<BlockId, 2> next;  // invalid where unused
  uint8_t jump = 0;    // of a two-way exit: which of `next` the bytecode jumps to (the other
                       // is laid out right after); back, by two jumps, where it takes two
  Instr instr;         // the instruction itself (Goto by falling through: the last one)
  bool falls = false;  // Goto only: there is no jump instruction
};

struct Block {
  uint32_t first = 0;  // into Graph::instrs
  uint32_t count = 0;
  Exit exit;
  HandlerId handler;       // invalid: none
  uint32_t depth = 0;      // stack slots at entry
  uint32_t exc_depth = 0;  // exceptions being handled at entry (PUSH_EXC_INFO less POP_EXCEPT)
  uint32_t offset = 0;     // byte offset where it starts
  uint32_t loop_end = 0;   // of the target of jumps back: where the last one of them ends, be it in
                           // code that never runs; what lies before it was written into the loop
};

struct Handler {
  BlockId entry;
  uint32_t depth = 0;  // stack slots that stay when it is entered
  bool lasti = false;
  uint8_t pushes = 1;  // 6 (<= 3.10: three of the previous exception, traceback, value, type),
                       // 1 (exception) or 2 (lasti, exception)
  bool begins = true;  // its code starts with handling the exception (<= 3.10: always; later:
                       // PushExcInfo comes first)
  bool is_with =
      false;  // set up by a with statement (<= 3.10 says so; else: entry has WithExceptStart)
  bool is_finally = false;  // 3.8 only: its code is also run as a subroutine
  uint32_t exc_depth = 0;  // exceptions being handled on entry, this one (<= 3.10) or the enclosing
                           // ones only (3.11+, where PushExcInfo follows)

  // Returns true if the interpreter finds the handler on its stack of blocks (<= 3.10) and not in
  // an exception table: it handles the exception on entry, without a PushExcInfo.
  bool is_on_block_stack() const { return pushes == 6; }
};

struct Graph {
  object::CodeId code;
  std::vector<Instr> instrs;
  std::vector<Block> blocks;
  std::vector<Handler> handlers;
  bool wraps_stop_iteration = false;  // 3.12+ generators: the wrapper was there and was taken off
  // 3.8, if build() was asked to: the Reraise of a handler's end has a next[0], where its statement
  // goes on (control does not go there that way, and maybe not at all), and a Marker stands where a
  // jump statement has left a region, or would have. A Pop with a jump right after it has
  // a = kDroppedByJump: `break` drops an iterator so, `return` goes on without a jump. A constant
  // that nobody has written has b = kPlaceholder.
  bool marks_ends = false;
  // 3.8-3.10, if build() was asked to: a Marker stands where a `try` has a body of which no code
  // was made, so that its handler is not forgotten.
  bool marks_empty_bodies = false;
  // Byte offset from where an exception gets out of a handler with nothing that restores what was
  // being handled before (3.11+): no compiler leaves that out, and unwinding here restores it.
  std::optional<uint32_t> unrestored;
  Folds folds;
  Habits habits;
  std::vector<bytecode::Fault> faults;  // as in the Stream

  const Block& operator[](BlockId id) const { return part_of(blocks, id); }
  const Handler& operator[](HandlerId id) const { return part_of(handlers, id); }
};

// What an Op::Marker says: a place in the code where nothing is executed. The first three are also
// put there by the steps of `structure`.
enum class Marker : uint32_t {
  Left,          // control leaves a protected region
  LeftByJump,    // the same by a jump statement (Graph::marks_ends)
  EndOfClause,   // the clause of an exception with a name has come to its end
  EmptyBody,     // the body of a `try`, which has no code (Graph::marks_empty_bodies)
  LostBreak,     // a jump statement that only runs a finally body, which goes another way
  LostContinue,  // (Graph::marks_ends)
  LostReturn     // b: object::ConstId of what it returns
};

// As `b` of the instruction of a Branch: what it raises goes past all handlers, though the compiler
// was given it where its block stands.
inline constexpr uint32_t kLostTest = 1;

inline constexpr uint32_t kDroppedByJump = 2;

// The b of a LoadConst that lies in the place of what a `try` may return, for its finally body to
// find; what leaves the statement drops it, and nobody has written it.
inline constexpr uint32_t kPlaceholder = 1;

// The b of a Pop of what an inlined comprehension has made, where only an annotation drops it so.
inline constexpr uint32_t kOfAnnotation = 1;

std::string dump(const object::Module& module, const Graph& graph);

// The same for people: `pellucid dis`, with lines and offsets.
std::string listing(const object::Module& module, const Graph& graph);
void check(const object::Module& module, const Graph& graph);

}  // namespace pellucid::flow
