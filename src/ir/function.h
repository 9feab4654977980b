// SPDX-License-Identifier: Apache-2.0
// ir: one code object as values and ordered effects; the stack is gone.
//
//   Result<Function> lift(const flow::Graph&)      (lift.h)
//
// Symbolic execution of the stack turns every instruction into a Value whose operands are values.
// Copies, swaps and rotations leave no trace. Python's variables are not in SSA form: loads and
// stores of them are effects, in order, like calls. A stack slot whose value differs between the
// edges into a join is a Phi, a parameter of the block; each edge carries one argument per
// parameter.
//
// Invariants (check()): the operands of a value are defined before it on every path; items of a
// block are in the order of their evaluation; an edge has as many arguments as its target has
// parameters; block ids are those of the flow graph.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "flow/graph.h"

namespace pellucid::ir {

using bytecode::Op;
using flow::BlockId;
using flow::ExitKind;
using flow::HandlerId;
using ValueId = Id<struct ValueTag>;

enum class ValueKind : uint8_t {
  Instr,      // what an instruction computes or does: op, a, b as in ops.def
  Element,    // the a-th of several results of operand 0 (UnpackSequence, UnpackEx, MatchKeys, ...)
  Item,       // what ForIter pushes; operand 0: the iterator
  Sent,       // what Send pushes
  Null,       // PushNull, and the second slot of a method or an exit function
  Exception,  // pushed on entry to a handler; a: ExceptionPart; b = 1: dropped before anything else
  Phi,        // a parameter of a block
  Region,     // what a reduced control region computes; a: index in structure's table of regions
};

enum class ExceptionPart : uint8_t { Value, Type, Traceback, Previous, Lasti };

// Operands of the instructions whose stack order is not the order of their operands here:
//   Call, CallKw, CallEx  callable, arguments in order, [tuple of names | args, kwargs]; NULL is
//                         left out
//   ListAppend, ...       container, item(s). With a = 1 the result stands for the container from
//                         then on; with a > 1 (comprehensions) it is an effect without a result.
//   StoreAttr, StoreSubscr  value, object[, key]
//   ImportFrom, GetLen, GetAnext, Match*, WithExceptStart  the value they look at, which stays
//   Pop                   a value that nothing uses any more; b says which, see Dropped

// What a Pop drops: its `b`.
enum class Dropped : uint32_t {
  Result = 0,       // of an expression statement
  Iterator = 1,     // of a loop that is left
  Stored = 3,       // a value that has just been stored
  Used = 4,         // was used before: only matters if it is the iterator of a loop
  Constant = 5,     // a constant that has just been loaded
  Carried = 6,      // of the block before, where it had its effect: a statement may end here
  Copy = 7,         // a copy made to be dropped, for `_` in `case _ as y`
  Annotated = 8,    // the annotation of something other than a name, or that thing
  Overwritten = 9,  // a constant whose target has just received the value above it
};

// The place of a Pop, if that shows how the text was written: its `a`.
enum class DropPlace : uint32_t {
  Plain = 0,
  BeforeJump = flow::kDroppedByJump,
  Apart,   // only its line kept the compiler from moving it before the others
  Behind,  // on their line; a jump that is never taken kept it from being moved
  AtEnd,   // of a conditional expression at the end of a body, too long to copy into the arms
};

struct Value {
  ValueKind kind = ValueKind::Instr;
  Op op = Op::Pop;
  bool steady = false;  // the same wherever it is loaded (generated.h)
  uint8_t marks = 0;    // of the StackMachine that made it
  uint32_t a = 0;
  uint32_t b = 0;
  uint32_t first = 0;  // into Function::operands
  uint32_t count = 0;
  uint32_t offset = 0;  // in the bytecode
  int32_t line = bytecode::kNoLine;
  uint32_t uses = 0;  // as an operand, a condition, an argument or a returned value

  Symbol symbol() const { return Symbol(a); }
  object::ConstId constant() const { return object::ConstId(a); }
};

// Returns true if an instruction with one of these ops makes the value.
template <typename... Ops>
constexpr bool is_op(const Value& value, Ops... ops) {
  return value.kind == ValueKind::Instr && ((value.op == ops) || ...);
}

inline bool drops(const Value& value, Dropped what) {
  return is_op(value, Op::Pop) && value.b == static_cast<uint32_t>(what);
}

inline DropPlace drop_place(const Value& pop) { return static_cast<DropPlace>(pop.a); }
inline void set_drop_place(Value& pop, DropPlace place) { pop.a = static_cast<uint32_t>(place); }

// Returns true if the value is a store to a name, in any scope.
inline bool stores_name(const Value& value) {
  return is_op(value, Op::StoreFast, Op::StoreName, Op::StoreGlobal, Op::StoreDeref);
}

struct Edge {
  BlockId to;                 // invalid: there is no such edge
  std::vector<ValueId> args;  // one per parameter of `to`
};

struct Block {
  std::vector<ValueId> params;  // phis
  std::vector<ValueId> items;   // in order of evaluation
  ExitKind exit = ExitKind::Goto;
  uint8_t jump = 0;           // as flow::Exit::jump
  bool is_lost_test = false;  // of a Branch: flow::kLostTest
  std::vector<ValueId>
      operands;  // of the exit: condition | iterator, its Item | value | raised values
  std::array<Edge, 2> next;
  HandlerId handler;
  uint32_t exc_depth = 0;
  uint32_t offset = 0;
  uint32_t loop_end = 0;  // as in flow::Block
  uint32_t exit_offset = 0;
  int32_t exit_line = bytecode::kNoLine;
  std::vector<ValueId> entry_stack;
  uint32_t drops = 0;  // values of entry_stack that are dropped before anything else happens
};

// The value with this id is the NULL of every Function.
inline constexpr ValueId kNull{0u};

struct Function {
  object::CodeId code;
  std::vector<Value> values;
  std::vector<ValueId> operand_pool;
  std::vector<Block> blocks;
  std::vector<flow::Handler> handlers;
  bool wraps_stop_iteration = false;
  bool marks_ends = false;          // as in flow::Graph
  bool marks_empty_bodies = false;  // as in flow::Graph
  flow::Folds folds;
  flow::Habits habits;
  bool is_generated = false;  // no compiler made it (generated.h)

  Value& operator[](ValueId id) { return part_of(values, id); }
  const Value& operator[](ValueId id) const { return part_of(values, id); }
  const Block& operator[](BlockId id) const { return part_of(blocks, id); }
  std::span<const ValueId> operands(const Value& value) const {
    return {operand_pool.data() + value.first, value.count};
  }
  std::span<const ValueId> operands(ValueId id) const { return operands(values[id.index()]); }
};

// Recounts the uses of every value.
void count_uses(Function& function);

std::string dump(const object::Module& module, const Function& function);
// Returns the operation of a value with its operand, as `LoadGlobal x`.
std::string text_of(const object::Module& module, const Value& value);
const char* name_of(ExitKind exit);
void check(const object::Module& module, const Function& function);

}  // namespace pellucid::ir
