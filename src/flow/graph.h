// SPDX-License-Identifier: Apache-2.0
// flow: the control-flow graph of one code object. Here version differences die.
//
//   Result<Graph> build(const object::Module&, const bytecode::Stream&)      (build.h)
//
// Blocks are straight lines of canonical instructions with one Exit each. A block is protected by
// its Handler, whether that was on a block stack (3.8-3.10) or in an exception table (3.11+):
//
//   * SETUP_*/POP_BLOCK and table entries have become Block::handler; blocks are split
//     where it changes.
//   * An exception in a block with a handler cuts the stack to Handler::depth, pushes
//     Handler::pushes slots, and control continues at Handler::entry. Without one it leaves the
//     function.
//   * 3.8 finally bodies are subroutines (CALL_FINALLY, END_FINALLY): each way into one has become
//     a separate copy, as 3.9+ compiles them, so EndFinally, CallFinally and the like are gone:
//     END_FINALLY is a Goto in the copy of a normal entry, and a Reraise in the exceptional one.
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
//   * A region has the extent of its statement's body. A block that only leaves it (a Return or a
//     jump with a value computed in it, after nothing but Pop, Copy, Swap, Rot) belongs to it too.
//   * A loop that starts the function has an empty entry block before it.
//
// Invariants (check()): block 0 is the entry, with an empty stack; no edge leads to it; every block
// is reachable from it, by exits and handlers; blocks are in the order of their bytecode (copies in
// the place of their original); the stack depth at a block's entry is the same for every edge into
// it; no instruction of a block but its Exit transfers control; a block's instructions share one
// handler.
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

// A handler that protects nothing else, or that several jumps in a row disagree about.
inline constexpr HandlerId kUnknownHandler{0xfffffffdu};

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
  uint8_t jump = 0;  // of a two-way exit: which of `next` the bytecode jumps to (the other is laid
                     // out right after); the target of the backward jump, if it takes two jumps
  Instr instr;       // the instruction itself (Goto by falling through: the last one)
  bool falls = false;  // Goto only: there is no jump instruction
  // Of a way on which the bytecode jumps back: the handler of what a signal handler raises there.
  std::array<std::optional<HandlerId>, 2> interrupted;
};

struct Block {
  uint32_t first = 0;  // into Graph::instrs
  uint32_t count = 0;
  Exit exit;
  HandlerId handler;       // invalid: none
  uint32_t depth = 0;      // stack slots at entry
  uint32_t exc_depth = 0;  // exceptions being handled at entry (PUSH_EXC_INFO less POP_EXCEPT)
  uint32_t offset = 0;     // byte offset where it starts
  uint32_t loop_end = 0;   // of a target of backward jumps: the end of the last one, even in code
                           // that never runs; code before it was written into the loop
};

struct Handler {
  BlockId entry;
  uint32_t depth = 0;  // stack slots that it keeps
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

  // Returns true if the interpreter finds the handler on its block stack (<= 3.10) and not in an
  // exception table: it handles the exception on entry, without a PushExcInfo.
  bool is_on_block_stack() const { return pushes == 6; }
};

struct Graph {
  object::CodeId code;
  std::vector<Instr> instrs;
  std::vector<Block> blocks;
  std::vector<Handler> handlers;
  bool wraps_stop_iteration = false;  // 3.12+ generators: the wrapper was removed
  // 3.8, if build() was asked to: the Reraise at the end of a handler has a next[0], the code after
  // its statement (control does not go there that way, and maybe not at all), and there is a Marker
  // where a jump statement left a region, or would have. A Pop right before a jump has a =
  // kDroppedByJump: `break` drops an iterator that way, `return` continues without a jump. A
  // constant that was not written has b = kPlaceholder.
  bool marks_ends = false;
  // 3.8-3.10, if build() was asked to: a Marker stands for the body of a `try` that compiled to no
  // code, so that its handler is kept.
  bool marks_empty_bodies = false;
  // Byte offset from which an exception leaves a handler without anything restoring the exception
  // state (3.11+): every compiler restores it, and so does unwinding here.
  std::optional<uint32_t> unrestored;
  // Byte offset of the first instruction that was folded away though it has another handler than
  // what stands for it now (3.11+).
  std::optional<uint32_t> parted;
  Folds folds;
  Habits habits;
  std::vector<bytecode::Fault> faults;  // as in the Stream

  const Block& operator[](BlockId id) const { return part_of(blocks, id); }
  const Handler& operator[](HandlerId id) const { return part_of(handlers, id); }
};

// The meanings of an Op::Marker, which executes nothing. The first three are also added by the
// steps of `structure`.
enum class Marker : uint32_t {
  Left,          // control leaves a protected region
  LeftByJump,    // the same by a jump statement (Graph::marks_ends)
  EndOfClause,   // the end of an `except` clause that binds a name
  EmptyBody,     // the body of a `try`, without code (Graph::marks_empty_bodies)
  LostBreak,     // a jump statement that only runs a finally body, which overtakes it
  LostContinue,  // (Graph::marks_ends)
  LostReturn     // b: object::ConstId of what it returns
};

// The b of a Branch's instruction: no handler gets what it raises, though it was written in the
// region of its block.
inline constexpr uint32_t kLostTest = 1;

inline constexpr uint32_t kDroppedByJump = 2;

// The b of a LoadConst in the slot of a `try`'s return value, for its finally body to find; the
// exits of the statement drop it, and it was not written.
inline constexpr uint32_t kPlaceholder = 1;

// The b of a Pop of an inlined comprehension's result, where only an annotation drops it that way.
inline constexpr uint32_t kOfAnnotation = 1;

std::string dump(const object::Module& module, const Graph& graph);

// Returns the same for people: `pellucid dis`, with lines and offsets.
std::string listing(const object::Module& module, const Graph& graph);
void check(const object::Module& module, const Graph& graph);

}  // namespace pellucid::flow
