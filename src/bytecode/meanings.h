// SPDX-License-Identifier: Apache-2.0
// bytecode: what each raw opcode of each version means in the canonical vocabulary.
#pragma once

#include <cstdint>
#include <string_view>

#include "bytecode/stream.h"

namespace pellucid::bytecode {

// How a raw instruction becomes canonical ones. Most make one, whose operand is ...
enum class Form : uint8_t {
  Plain,   // fixed: the row's a and b
  Number,  // a = the argument
  Const,   // a = consts[argument]
  Name,    // a = names[argument]
  Local,   // a = the fast local; if that slot is a cell, a load is LoadClosure
  Cell,    // a = the cell or free variable
  Target,  // a = the instruction that the jump leads to
  // ... and these make none or several, or take their argument apart (translate.cpp).
  Drop,
  Never,            // occurs in no code object
  ReturnGenerator,  // with the pop after it; dropped where nothing stands before it
  MakeCell,         // dropped in the prologue
  DupTwo,           // Copy 2, Copy 2
  SmallInt,         // LoadConst
  ReturnConst,      // LoadConst, ReturnValue
  TwoLocals,        // the row's op on the local in the high bits, then LoadFast ...
  StoreTwo,         // ... or StoreFast of the one in the low bits
  GlobalNullBelow,  // low bit: PushNull, then LoadGlobal
  GlobalNullAbove,  // low bit: LoadGlobal, then PushNull
  AttrOrMethod,     // low bit: LoadMethod instead of LoadAttr
  SuperAttr,        // LoadSuper, then LoadAttr or LoadMethod
  CommonConstant,   // LoadAssertionError or LoadConst where it is that
  Slice,            // three parts if the operand is 3, else two, as the interpreter has it
  SliceThen,        // BuildSlice 2, then the row's op
  BinaryOp,         // 3.11+ numbers
  CompareOp,        // a = argument >> the row's b
  CompareOp38,      // is, in and exception matches among the comparisons
  Flag,             // a = the lowest bit of the argument
  UnpackEx,
  FormatValue,
  Interpolation,
  CallOrCallKw,  // CallKw after a KW_NAMES
  CallEx,        // a = the lowest bit, b = the row's
  Yield310,      // wraps the value in asynchronous generators, as 3.11+ says itself
  Intrinsic1,
  ToBool,             // dropped where the next instruction tests the value anyway
  JumpOrPop,          // Copy 1, the row's branch, Pop
  JumpIfNotExcMatch,  // ExcMatch, BranchFalse
  CheckExcMatch,      // Copy 2, Swap 2, ExcMatch
  ForIter,            // an exhausted iterator leads past END_FOR and the pop after it
  EndFor,             // dropped with the pop after it
  EndSend,            // the result instead of the row's a slots below it
  PopTwo,             // Pop, Pop
  GetIter,            // and the empty slot above the iterator (3.15)
  Import,             // a = the name; b = lazy or not, in the low bits (3.15)
  Copy,               // or the start of 3.14's with statement
  Reraise,
};

struct Versions {
  int first;
  int last;
};

struct Meaning {
  std::string_view name;
  Versions versions;
  Form form;
  Op op = Op::Pop;
  uint32_t a = 0;
  uint32_t b = 0;
};

// The meaning of an opcode that the version has; CHECK-fails on others.
const Meaning& meaning_of(object::Version version, uint8_t opcode);

}  // namespace pellucid::bytecode
