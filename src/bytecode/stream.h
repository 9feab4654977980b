// SPDX-License-Identifier: Apache-2.0
// bytecode: raw code units of any version -> one canonical instruction stream.
//
//   Result<Stream> decode(const object::Module&, object::CodeId)      (decode.h)
//
// A raw instruction is as `dis` shows it: opcode, argument with EXTENDED_ARG folded in, jump
// target, line. A canonical instruction (ops.def) means the same in every version; most raw
// instructions become one, some become none or several. Both lists are kept: `dis` is the oracle
// for the first, and every later layer reads the second.
//
// Invariants (check()): starts of raw instructions ascend; every canonical instruction names its
// raw one; a Target operand is the index of an instruction; every name or constant operand has been
// resolved to an id of the module.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "object/code.h"

namespace pellucid::bytecode {

enum class Op : uint8_t {
#define OP(name, ...) name,
#include "bytecode/ops.def"
#undef OP
};

enum class Operand : uint8_t {
  None,
  Const,
  Name,
  Local,
  Cell,
  Target,
  Count,
  Depth,
  Operator,
  Flags,
  Kind
};

enum class UnaryOperator : uint8_t { Negative, Positive, Not, Invert };

enum class BinaryOperator : uint8_t {
  Add,
  Sub,
  Mult,
  MatMult,
  Div,
  Mod,
  Pow,
  LShift,
  RShift,
  BitOr,
  BitXor,
  BitAnd,
  FloorDiv
};

enum class CompareOperator : uint8_t { Lt, LtE, Eq, NotEq, Gt, GtE };

// Bits of MakeFunction and SetFunctionAttribute.
enum FunctionFlag : uint32_t {
  kDefaults = 1,
  kKwDefaults = 2,
  kAnnotations = 4,  // 3.8, 3.9: dict; 3.10-3.13: tuple of names and values, or dict
  kClosure = 8,
  kAnnotate = 16,  // 3.14
};

// Operands of Intrinsic1 and Intrinsic2: CPython's numbers (3.12+), which earlier versions' opcodes
// get too.
enum Intrinsic : uint32_t {
  kPrint = 1,       // PrintExpr if its result is popped
  kImportStar = 2,  // ImportStar if its result is popped
  kStopIterationError = 3,
  kAsyncGenWrap = 4,   // before each YieldValue of an asynchronous generator, in all versions
  kUnaryPositive = 5,  // always Unary
  kListToTuple = 6,    // always ListToTuple
  kTypeVar = 7,
  kParamSpec = 8,
  kTypeVarTuple = 9,
  kSubscriptGeneric = 10,
  kTypeAlias = 11,
  kPrepReraiseStar = 1,  // Intrinsic2 from here
  kTypeVarWithBound = 2,
  kTypeVarWithConstraints = 3,
  kSetFunctionTypeParams = 4,
  kSetTypeParamDefault = 5,
};

inline constexpr int32_t kNoLine = -1;

struct RawInstr {
  uint32_t offset = 0;  // of the instruction itself, after its EXTENDED_ARGs, in bytes
  uint32_t start = 0;   // of its first EXTENDED_ARG
  uint8_t opcode = 0;   // the version's own number, unspecialised
  uint32_t arg = 0;
  int64_t target = -1;     // byte offset of a jump's target
  int32_t line = kNoLine;  // kNoLine: artificial
};

struct Instr {
  Op op = Op::Pop;
  uint32_t a = 0;  // see ops.def
  uint32_t b = 0;
  uint32_t raw = 0;     // index of its raw instruction
  uint32_t offset = 0;  // of that instruction, in bytes
  int32_t line = kNoLine;

  Symbol symbol() const { return Symbol(a); }
  object::ConstId constant() const { return object::ConstId(a); }
};

// A part of a code object that has no meaning. In place of an instruction there is an Unsayable:
// the rest of the code is kept, and the text raises there.
struct Fault {
  std::string message;
  uint32_t offset = 0;       // in bytes
  std::string instructions;  // from there on, for messages; empty: not a place in the code
};

// One entry of a 3.11+ exception table, in canonical instruction indices.
struct ExceptionEntry {
  uint32_t begin = 0;
  uint32_t end = 0;  // one past the last
  uint32_t target = 0;
  uint32_t depth = 0;  // stack slots that stay
  bool lasti = false;  // the offset of the raising instruction is pushed below the exception
};

struct Stream {
  object::CodeId code;
  std::vector<RawInstr> raw;
  std::vector<Instr> instrs;
  std::vector<ExceptionEntry> exceptions;  // 3.11+; sorted by begin, disjoint
  // The handlers that get what a signal handler raises at a jump back; `begin`: that jump.
  std::vector<ExceptionEntry> interrupts;
  // The tests that stand for a TO_BOOL too, ascending; only if there are exceptions.
  std::vector<uint32_t> truth_tests;
  // Byte offset of the first raw instruction that has no instruction of its own, and another
  // handler than the one that stands for it.
  std::optional<uint32_t> parted;
  std::vector<Fault> faults;  // reached, without a meaning; never proven
};

std::string_view name_of(Op op);
Operand operand_of(Op op);
bool can_raise(Op op);

struct StackEffect {
  uint32_t pops = 0;
  uint32_t pushes = 0;
};

// Returns the slots popped and pushed if control falls through. Not for the 3.8 finally ops and
// Send, whose effect depends on the path.
StackEffect stack_effect(const Instr& instr);

// Returns the text of one instruction with its operands resolved: `LoadFast x`.
std::string text_of(const object::Module& module, const Instr& instr);

// Returns deterministic text: one line for each instruction, operands resolved.
std::string dump(const object::Module& module, const Stream& stream);

// Returns the raw instructions, for comparing with `dis`: a line with the code object's first line
// and name, then a line for each instruction: offset, name, argument, target (-1: none), line (-1:
// none).
std::string dump_raw(const object::Module& module, const Stream& stream);

void check(const object::Module& module, const Stream& stream);

}  // namespace pellucid::bytecode
