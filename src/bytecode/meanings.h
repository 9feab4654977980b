// SPDX-License-Identifier: Apache-2.0
// bytecode: the meaning of each raw opcode of each version in the canonical vocabulary.
#pragma once

#include <cstdint>
#include <string_view>

#include "bytecode/stream.h"

namespace pellucid::bytecode {

// How a raw instruction becomes canonical ones. Most become one, whose operand is ...
enum class Form : uint8_t {
  Plain,   // fixed: the row's a and b
  Number,  // a = the argument
  Const,   // a = consts[argument]
  Name,    // a = names[argument]
  Local,   // a = the fast local; if that slot is a cell, a load is LoadClosure
  Cell,    // a = the cell or free variable
  Target,  // a = the target instruction of the jump
  // ... and these become none or several, or split their argument (translate.cpp).
  Drop,
  Never,            // never in a code object
  ReturnGenerator,  // with the pop after it; dropped as the first instruction
  MakeCell,         // dropped in the prologue
  DupTwo,           // Copy 2, Copy 2
  SmallInt,         // LoadConst
  ReturnConst,      // LoadConst, ReturnValue
  TwoLocals,        // the row's op on the local in the high bits, then LoadFast ...
  StoreTwo,         // ... or StoreFast on the one in the low bits
  GlobalNullBelow,  // low bit: PushNull, then LoadGlobal
  GlobalNullAbove,  // low bit: LoadGlobal, then PushNull
  AttrOrMethod,     // low bit: LoadMethod instead of LoadAttr
  SuperAttr,        // LoadSuper, then LoadAttr or LoadMethod
  CommonConstant,   // LoadAssertionError or LoadConst if it is one of these
  Slice,            // three parts if the operand is 3, else two, as in the interpreter
  SliceThen,        // BuildSlice 2, then the row's op
  BinaryOp,         // 3.11+ numbers
  CompareOp,        // a = argument >> the row's b
  CompareOp38,      // comparisons, including is, in and exception matches
  Flag,             // a = the lowest bit of the argument
  UnpackEx,
  FormatValue,
  Interpolation,
  CallOrCallKw,  // CallKw after a KW_NAMES
  CallEx,        // a = the lowest bit, b = the row's
  Yield310,      // wraps the value in asynchronous generators, explicit in 3.11+
  Intrinsic1,
  ToBool,             // dropped if the next instruction tests the value
  JumpOrPop,          // Copy 1, the row's branch, Pop
  JumpIfNotExcMatch,  // ExcMatch, BranchFalse
  CheckExcMatch,      // Copy 2, Swap 2, ExcMatch
  ForIter,            // the exhausted edge leads past END_FOR and the pop after it
  EndFor,             // dropped with the pop after it
  EndSend,            // replaces the row's a slots below the result by it
  PopTwo,             // Pop, Pop
  GetIter,            // with the empty slot above the iterator (3.15)
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

// Returns the meaning of an opcode that the version has; CHECK-fails on others.
const Meaning& meaning_of(object::Version version, uint8_t opcode);

}  // namespace pellucid::bytecode
