// SPDX-License-Identifier: Apache-2.0
// This table alone defines what a version does with an opcode: one row for each meaning that a name
// has had. An opcode of raw/<version>.def without a row does not compile.
#include "bytecode/meanings.h"

#include <utility>

#include "base/check.h"
#include "bytecode/raw_tables.inc"

namespace pellucid::bytecode {
namespace {

constexpr Versions kAll{kFirstMinor, kLastMinor};
constexpr Versions since(int minor) { return {minor, kLastMinor}; }
constexpr Versions until(int minor) { return {kFirstMinor, minor}; }

template <typename Enum>
constexpr uint32_t number(Enum value) {
  return static_cast<uint32_t>(value);
}

using enum BinaryOperator;

constexpr Meaning kMeanings[] = {
    // -- the frame, and instructions that do nothing to values ---------------------------------
    {"CACHE", kAll, Form::Drop},
    {"NOP", kAll, Form::Drop},
    {"RESUME", kAll, Form::Drop},
    {"PRECALL", kAll, Form::Drop, Op::Call},
    {"NOT_TAKEN", kAll, Form::Drop},
    {"COPY_FREE_VARS", kAll, Form::Drop},
    // Pops the None that the first send() pushes.
    {"GEN_START", kAll, Form::Drop},
    {"RETURN_GENERATOR", kAll, Form::ReturnGenerator, Op::StartGenerator},
    {"MAKE_CELL", kAll, Form::MakeCell, Op::MakeCell},
    {"EXTENDED_ARG", kAll, Form::Never},
    {"INTERPRETER_EXIT", kAll, Form::Never},
    {"ENTER_EXECUTOR", kAll, Form::Never},
    {"EXIT_INIT_CHECK", kAll, Form::Never},
    {"RESERVED", kAll, Form::Never},
    {"TRACE_RECORD", kAll, Form::Never},

    // -- stack ------------------------------------------------------------------------------------
    {"POP_TOP", kAll, Form::Plain, Op::Pop},
    {"POP_ITER", until(14), Form::Plain, Op::Pop},
    {"POP_ITER", since(15), Form::PopTwo, Op::Pop},
    {"DUP_TOP", kAll, Form::Plain, Op::Copy, 1},
    {"DUP_TOP_TWO", kAll, Form::DupTwo, Op::Copy},
    {"ROT_TWO", kAll, Form::Plain, Op::Rot, 2},
    {"ROT_THREE", kAll, Form::Plain, Op::Rot, 3},
    {"ROT_FOUR", kAll, Form::Plain, Op::Rot, 4},
    {"ROT_N", kAll, Form::Number, Op::Rot},
    {"COPY", kAll, Form::Copy, Op::Copy},
    {"SWAP", kAll, Form::Number, Op::Swap},
    {"PUSH_NULL", kAll, Form::Plain, Op::PushNull},

    // -- loads, stores, deletes -------------------------------------------------------------------
    {"LOAD_CONST", kAll, Form::Const, Op::LoadConst},
    {"LOAD_SMALL_INT", kAll, Form::SmallInt, Op::LoadConst},
    {"RETURN_CONST", kAll, Form::ReturnConst, Op::LoadConst},
    {"KW_NAMES", kAll, Form::Const, Op::LoadConst},
    {"LOAD_FAST", kAll, Form::Local, Op::LoadFast},
    {"LOAD_FAST_CHECK", kAll, Form::Local, Op::LoadFast},
    {"LOAD_FAST_BORROW", kAll, Form::Local, Op::LoadFast},
    {"LOAD_FAST_LOAD_FAST", kAll, Form::TwoLocals, Op::LoadFast},
    {"LOAD_FAST_BORROW_LOAD_FAST_BORROW", kAll, Form::TwoLocals, Op::LoadFast},
    {"STORE_FAST_LOAD_FAST", kAll, Form::TwoLocals, Op::StoreFast},
    {"STORE_FAST_STORE_FAST", kAll, Form::StoreTwo, Op::StoreFast},
    {"LOAD_FAST_AND_CLEAR", kAll, Form::Local, Op::LoadFastAndClear},
    {"STORE_FAST", kAll, Form::Local, Op::StoreFast},
    {"DELETE_FAST", kAll, Form::Local, Op::DeleteFast},
    {"LOAD_NAME", kAll, Form::Name, Op::LoadName},
    {"STORE_NAME", kAll, Form::Name, Op::StoreName},
    {"DELETE_NAME", kAll, Form::Name, Op::DeleteName},
    {"LOAD_GLOBAL", until(10), Form::Name, Op::LoadGlobal},
    {"LOAD_GLOBAL", {11, 12}, Form::GlobalNullBelow, Op::LoadGlobal},
    {"LOAD_GLOBAL", since(13), Form::GlobalNullAbove, Op::LoadGlobal},
    {"STORE_GLOBAL", kAll, Form::Name, Op::StoreGlobal},
    {"DELETE_GLOBAL", kAll, Form::Name, Op::DeleteGlobal},
    {"LOAD_DEREF", kAll, Form::Cell, Op::LoadDeref},
    {"STORE_DEREF", kAll, Form::Cell, Op::StoreDeref},
    {"DELETE_DEREF", kAll, Form::Cell, Op::DeleteDeref},
    {"LOAD_CLOSURE", kAll, Form::Cell, Op::LoadClosure},
    {"LOAD_CLASSDEREF", kAll, Form::Cell, Op::LoadClassDeref},
    {"LOAD_FROM_DICT_OR_DEREF", kAll, Form::Cell, Op::LoadFromDictOrDeref},
    {"LOAD_FROM_DICT_OR_GLOBALS", kAll, Form::Name, Op::LoadFromDictOrGlobals},
    {"LOAD_LOCALS", kAll, Form::Plain, Op::LoadLocals},
    {"LOAD_BUILD_CLASS", kAll, Form::Plain, Op::LoadBuildClass},
    {"LOAD_ASSERTION_ERROR", kAll, Form::Plain, Op::LoadAssertionError},
    {"LOAD_COMMON_CONSTANT", kAll, Form::CommonConstant, Op::LoadCommonConstant},
    {"LOAD_SPECIAL", kAll, Form::Number, Op::LoadSpecial},

    // -- attributes and items ---------------------------------------------------------------------
    {"LOAD_ATTR", until(11), Form::Name, Op::LoadAttr},
    {"LOAD_ATTR", since(12), Form::AttrOrMethod, Op::LoadAttr},
    {"LOAD_METHOD", kAll, Form::Name, Op::LoadMethod},
    {"LOAD_SUPER_ATTR", kAll, Form::SuperAttr, Op::LoadSuper},
    {"STORE_ATTR", kAll, Form::Name, Op::StoreAttr},
    {"DELETE_ATTR", kAll, Form::Name, Op::DeleteAttr},
    {"BINARY_SUBSCR", kAll, Form::Plain, Op::Subscr},
    {"STORE_SUBSCR", kAll, Form::Plain, Op::StoreSubscr},
    {"DELETE_SUBSCR", kAll, Form::Plain, Op::DeleteSubscr},
    {"BINARY_SLICE", kAll, Form::SliceThen, Op::Subscr},
    {"STORE_SLICE", kAll, Form::SliceThen, Op::StoreSubscr},

    // -- operators --------------------------------------------------------------------------------
    {"UNARY_NEGATIVE", kAll, Form::Plain, Op::Unary, number(UnaryOperator::Negative)},
    {"UNARY_POSITIVE", kAll, Form::Plain, Op::Unary, number(UnaryOperator::Positive)},
    {"UNARY_NOT", kAll, Form::Plain, Op::Unary, number(UnaryOperator::Not)},
    {"UNARY_INVERT", kAll, Form::Plain, Op::Unary, number(UnaryOperator::Invert)},
    {"BINARY_ADD", kAll, Form::Plain, Op::Binary, number(Add)},
    {"BINARY_SUBTRACT", kAll, Form::Plain, Op::Binary, number(Sub)},
    {"BINARY_MULTIPLY", kAll, Form::Plain, Op::Binary, number(Mult)},
    {"BINARY_MATRIX_MULTIPLY", kAll, Form::Plain, Op::Binary, number(MatMult)},
    {"BINARY_TRUE_DIVIDE", kAll, Form::Plain, Op::Binary, number(Div)},
    {"BINARY_MODULO", kAll, Form::Plain, Op::Binary, number(Mod)},
    {"BINARY_POWER", kAll, Form::Plain, Op::Binary, number(Pow)},
    {"BINARY_LSHIFT", kAll, Form::Plain, Op::Binary, number(LShift)},
    {"BINARY_RSHIFT", kAll, Form::Plain, Op::Binary, number(RShift)},
    {"BINARY_OR", kAll, Form::Plain, Op::Binary, number(BitOr)},
    {"BINARY_XOR", kAll, Form::Plain, Op::Binary, number(BitXor)},
    {"BINARY_AND", kAll, Form::Plain, Op::Binary, number(BitAnd)},
    {"BINARY_FLOOR_DIVIDE", kAll, Form::Plain, Op::Binary, number(FloorDiv)},
    {"INPLACE_ADD", kAll, Form::Plain, Op::Binary, number(Add), 1},
    {"INPLACE_SUBTRACT", kAll, Form::Plain, Op::Binary, number(Sub), 1},
    {"INPLACE_MULTIPLY", kAll, Form::Plain, Op::Binary, number(Mult), 1},
    {"INPLACE_MATRIX_MULTIPLY", kAll, Form::Plain, Op::Binary, number(MatMult), 1},
    {"INPLACE_TRUE_DIVIDE", kAll, Form::Plain, Op::Binary, number(Div), 1},
    {"INPLACE_MODULO", kAll, Form::Plain, Op::Binary, number(Mod), 1},
    {"INPLACE_POWER", kAll, Form::Plain, Op::Binary, number(Pow), 1},
    {"INPLACE_LSHIFT", kAll, Form::Plain, Op::Binary, number(LShift), 1},
    {"INPLACE_RSHIFT", kAll, Form::Plain, Op::Binary, number(RShift), 1},
    {"INPLACE_OR", kAll, Form::Plain, Op::Binary, number(BitOr), 1},
    {"INPLACE_XOR", kAll, Form::Plain, Op::Binary, number(BitXor), 1},
    {"INPLACE_AND", kAll, Form::Plain, Op::Binary, number(BitAnd), 1},
    {"INPLACE_FLOOR_DIVIDE", kAll, Form::Plain, Op::Binary, number(FloorDiv), 1},
    {"BINARY_OP", kAll, Form::BinaryOp, Op::Binary},
    {"COMPARE_OP", until(8), Form::CompareOp38, Op::Compare},
    {"COMPARE_OP", {9, 11}, Form::CompareOp, Op::Compare, 0, 0},
    {"COMPARE_OP", {12, 12}, Form::CompareOp, Op::Compare, 0, 4},
    {"COMPARE_OP", since(13), Form::CompareOp, Op::Compare, 0, 5},
    {"IS_OP", kAll, Form::Flag, Op::IsOp},
    {"CONTAINS_OP", kAll, Form::Flag, Op::ContainsOp},
    {"TO_BOOL", kAll, Form::ToBool, Op::ToBool},

    // -- containers and strings -------------------------------------------------------------------
    {"BUILD_TUPLE", kAll, Form::Number, Op::BuildTuple},
    {"BUILD_LIST", kAll, Form::Number, Op::BuildList},
    {"BUILD_SET", kAll, Form::Number, Op::BuildSet},
    {"BUILD_MAP", kAll, Form::Number, Op::BuildMap},
    {"BUILD_CONST_KEY_MAP", kAll, Form::Number, Op::BuildConstKeyMap},
    {"BUILD_STRING", kAll, Form::Number, Op::BuildString},
    {"BUILD_SLICE", kAll, Form::Slice, Op::BuildSlice},
    {"BUILD_TUPLE_UNPACK", kAll, Form::Number, Op::BuildTupleUnpack},
    {"BUILD_TUPLE_UNPACK_WITH_CALL", kAll, Form::Number, Op::BuildTupleUnpackWithCall},
    {"BUILD_LIST_UNPACK", kAll, Form::Number, Op::BuildListUnpack},
    {"BUILD_SET_UNPACK", kAll, Form::Number, Op::BuildSetUnpack},
    {"BUILD_MAP_UNPACK", kAll, Form::Number, Op::BuildMapUnpack},
    {"BUILD_MAP_UNPACK_WITH_CALL", kAll, Form::Number, Op::BuildMapUnpackWithCall},
    {"LIST_APPEND", kAll, Form::Number, Op::ListAppend},
    {"SET_ADD", kAll, Form::Number, Op::SetAdd},
    {"MAP_ADD", kAll, Form::Number, Op::MapAdd},
    {"LIST_EXTEND", kAll, Form::Number, Op::ListExtend},
    {"SET_UPDATE", kAll, Form::Number, Op::SetUpdate},
    {"DICT_UPDATE", kAll, Form::Number, Op::DictUpdate},
    {"DICT_MERGE", kAll, Form::Number, Op::DictMerge},
    {"LIST_TO_TUPLE", kAll, Form::Plain, Op::ListToTuple},
    {"UNPACK_SEQUENCE", kAll, Form::Number, Op::UnpackSequence},
    {"UNPACK_EX", kAll, Form::UnpackEx, Op::UnpackEx},
    {"CONVERT_VALUE", kAll, Form::Number, Op::Convert},
    {"FORMAT_SIMPLE", kAll, Form::Plain, Op::Format},
    {"FORMAT_WITH_SPEC", kAll, Form::Plain, Op::Format, 0, 1},
    {"FORMAT_VALUE", kAll, Form::FormatValue, Op::Format},
    {"BUILD_INTERPOLATION", kAll, Form::Interpolation, Op::BuildInterpolation},
    {"BUILD_TEMPLATE", kAll, Form::Plain, Op::BuildTemplate},

    // -- functions and calls (b: the slots of the callee) -----------------------------------------
    {"MAKE_FUNCTION", until(10), Form::Number, Op::MakeFunction, 0, 1},
    {"MAKE_FUNCTION", {11, 12}, Form::Number, Op::MakeFunction},
    {"MAKE_FUNCTION", since(13), Form::Plain, Op::MakeFunction},
    {"SET_FUNCTION_ATTRIBUTE", kAll, Form::Number, Op::SetFunctionAttribute},
    {"CALL_FUNCTION", kAll, Form::Number, Op::Call, 0, 1},
    {"CALL_METHOD", kAll, Form::Number, Op::Call, 0, 2},
    {"CALL_FUNCTION_KW", kAll, Form::Number, Op::CallKw, 0, 1},
    {"CALL", {11, 12}, Form::CallOrCallKw, Op::Call, 0, 2},
    {"CALL", since(13), Form::Number, Op::Call, 0, 2},
    {"CALL_KW", kAll, Form::Number, Op::CallKw, 0, 2},
    {"CALL_FUNCTION_EX", until(10), Form::CallEx, Op::CallEx, 0, 1},
    {"CALL_FUNCTION_EX", {11, 13}, Form::CallEx, Op::CallEx, 0, 2},
    {"CALL_FUNCTION_EX", since(14), Form::Plain, Op::CallEx, 1, 2},
    {"CALL_INTRINSIC_1", kAll, Form::Intrinsic1, Op::Intrinsic1},
    {"CALL_INTRINSIC_2", kAll, Form::Number, Op::Intrinsic2},
    {"GET_ITER", until(14), Form::Plain, Op::GetIter},
    {"GET_ITER", since(15), Form::GetIter, Op::GetIter},
    {"GET_YIELD_FROM_ITER", kAll, Form::Plain, Op::GetYieldFromIter},
    {"GET_AWAITABLE", kAll, Form::Number, Op::GetAwaitable},
    {"GET_AITER", kAll, Form::Plain, Op::GetAiter},
    {"GET_ANEXT", kAll, Form::Plain, Op::GetAnext},
    {"YIELD_VALUE", until(10), Form::Yield310, Op::YieldValue},
    {"YIELD_VALUE", since(11), Form::Plain, Op::YieldValue},
    {"YIELD_FROM", kAll, Form::Plain, Op::YieldFrom},
    {"ASYNC_GEN_WRAP", kAll, Form::Plain, Op::Intrinsic1, kAsyncGenWrap},
    {"PREP_RERAISE_STAR", kAll, Form::Plain, Op::Intrinsic2, kPrepReraiseStar},
    {"IMPORT_NAME", until(14), Form::Name, Op::ImportName},
    {"IMPORT_NAME", since(15), Form::Import, Op::ImportName},
    {"IMPORT_FROM", kAll, Form::Name, Op::ImportFrom},
    {"IMPORT_STAR", kAll, Form::Plain, Op::ImportStar},
    {"SETUP_ANNOTATIONS", kAll, Form::Plain, Op::SetupAnnotations},
    {"PRINT_EXPR", kAll, Form::Plain, Op::PrintExpr},

    // -- match ------------------------------------------------------------------------------------
    {"GET_LEN", kAll, Form::Plain, Op::GetLen},
    {"MATCH_MAPPING", kAll, Form::Plain, Op::MatchMapping},
    {"MATCH_SEQUENCE", kAll, Form::Plain, Op::MatchSequence},
    {"MATCH_KEYS", {10, 10}, Form::Plain, Op::MatchKeys, 0, 1},
    {"MATCH_KEYS", since(11), Form::Plain, Op::MatchKeys},
    {"MATCH_CLASS", {10, 10}, Form::Number, Op::MatchClass, 0, 1},
    {"MATCH_CLASS", since(11), Form::Number, Op::MatchClass},
    {"COPY_DICT_WITHOUT_KEYS", kAll, Form::Plain, Op::CopyDictWithoutKeys},

    // -- exceptions -------------------------------------------------------------------------------
    {"PUSH_EXC_INFO", kAll, Form::Plain, Op::PushExcInfo},
    {"POP_EXCEPT", until(10), Form::Plain, Op::PopExcept, 3},
    {"POP_EXCEPT", since(11), Form::Plain, Op::PopExcept, 1},
    {"CHECK_EXC_MATCH", kAll, Form::CheckExcMatch, Op::ExcMatch},
    {"CHECK_EG_MATCH", kAll, Form::Plain, Op::EgMatch},
    {"BEFORE_WITH", kAll, Form::Plain, Op::BeforeWith, 0, 1},
    {"BEFORE_ASYNC_WITH", kAll, Form::Plain, Op::BeforeAsyncWith, 0, 1},
    {"WITH_EXCEPT_START", {9, 10}, Form::Plain, Op::WithExceptStart, 7, 1},
    {"WITH_EXCEPT_START", {11, 13}, Form::Plain, Op::WithExceptStart, 4, 1},
    {"WITH_EXCEPT_START", since(14), Form::Plain, Op::WithExceptStart, 5, 2},
    {"CLEANUP_THROW", until(14), Form::Plain, Op::CleanupThrow},
    {"CLEANUP_THROW", since(15), Form::Plain, Op::CleanupThrow, 0, 1},
    {"END_ASYNC_FOR", until(10), Form::Plain, Op::EndAsyncFor, 7},
    {"END_ASYNC_FOR", since(11), Form::Plain, Op::EndAsyncFor, 2},

    // -- control ----------------------------------------------------------------------------------
    {"JUMP_FORWARD", kAll, Form::Target, Op::Jump},
    {"JUMP_ABSOLUTE", kAll, Form::Target, Op::Jump},
    {"JUMP_BACKWARD", kAll, Form::Target, Op::Jump},
    {"JUMP_BACKWARD_NO_INTERRUPT", kAll, Form::Target, Op::Jump},
    {"POP_JUMP_IF_TRUE", kAll, Form::Target, Op::BranchTrue},
    {"POP_JUMP_IF_FALSE", kAll, Form::Target, Op::BranchFalse},
    {"POP_JUMP_IF_NONE", kAll, Form::Target, Op::BranchNone},
    {"POP_JUMP_IF_NOT_NONE", kAll, Form::Target, Op::BranchNotNone},
    {"POP_JUMP_FORWARD_IF_TRUE", kAll, Form::Target, Op::BranchTrue},
    {"POP_JUMP_FORWARD_IF_FALSE", kAll, Form::Target, Op::BranchFalse},
    {"POP_JUMP_FORWARD_IF_NONE", kAll, Form::Target, Op::BranchNone},
    {"POP_JUMP_FORWARD_IF_NOT_NONE", kAll, Form::Target, Op::BranchNotNone},
    {"POP_JUMP_BACKWARD_IF_TRUE", kAll, Form::Target, Op::BranchTrue},
    {"POP_JUMP_BACKWARD_IF_FALSE", kAll, Form::Target, Op::BranchFalse},
    {"POP_JUMP_BACKWARD_IF_NONE", kAll, Form::Target, Op::BranchNone},
    {"POP_JUMP_BACKWARD_IF_NOT_NONE", kAll, Form::Target, Op::BranchNotNone},
    {"JUMP_IF_TRUE_OR_POP", kAll, Form::JumpOrPop, Op::BranchTrue},
    {"JUMP_IF_FALSE_OR_POP", kAll, Form::JumpOrPop, Op::BranchFalse},
    {"JUMP_IF_NOT_EXC_MATCH", kAll, Form::JumpIfNotExcMatch, Op::BranchFalse},
    {"FOR_ITER", until(11), Form::Target, Op::ForIter},
    {"FOR_ITER", {12, 14}, Form::ForIter, Op::ForIter},
    {"FOR_ITER", since(15), Form::ForIter, Op::ForIter, 0, 1},
    {"END_FOR", kAll, Form::EndFor},
    // b = 1: at its end, 3.11 has popped the iterator.
    {"SEND", {11, 11}, Form::Target, Op::Send, 0, 1},
    {"SEND", {12, 14}, Form::Target, Op::Send},
    {"SEND", since(15), Form::Target, Op::Send, 0, 2},
    {"END_SEND", until(14), Form::EndSend, Op::Pop, 1},
    {"END_SEND", since(15), Form::EndSend, Op::Pop, 2},
    {"RETURN_VALUE", kAll, Form::Plain, Op::ReturnValue},
    {"RAISE_VARARGS", kAll, Form::Number, Op::Raise},
    {"RERAISE", {9, 10}, Form::Plain, Op::Reraise, 3},
    {"RERAISE", since(11), Form::Reraise, Op::Reraise, 1},

    // -- the block stack of 3.8-3.10 --------------------------------------------------------------
    {"SETUP_FINALLY", kAll, Form::Target, Op::SetupFinally},
    {"SETUP_WITH", kAll, Form::Target, Op::SetupWith},
    {"SETUP_ASYNC_WITH", kAll, Form::Target, Op::SetupAsyncWith},
    {"POP_BLOCK", kAll, Form::Plain, Op::PopBlock},
    {"BEGIN_FINALLY", kAll, Form::Plain, Op::BeginFinally},
    {"CALL_FINALLY", kAll, Form::Target, Op::CallFinally},
    {"POP_FINALLY", kAll, Form::Number, Op::PopFinally},
    {"END_FINALLY", kAll, Form::Plain, Op::EndFinally},
    {"WITH_CLEANUP_START", kAll, Form::Plain, Op::WithCleanupStart},
    {"WITH_CLEANUP_FINISH", kAll, Form::Plain, Op::WithCleanupFinish},
};

using Rows = std::array<uint16_t, 256>;

constexpr Rows rows_of(int minor) {
  Rows rows{};
  const RawTable& table = kRawTables[static_cast<size_t>(minor - kFirstMinor)];
  for (size_t opcode = 0; opcode < table.size(); ++opcode) {
    const std::string_view name = table[opcode].name;
    if (name.empty()) continue;
    size_t row = 0;
    while (kMeanings[row].name != name || kMeanings[row].versions.first > minor ||
           kMeanings[row].versions.last < minor) {
      // Past the last row compilation fails: an opcode has no meaning.
      ++row;
    }
    rows[opcode] = static_cast<uint16_t>(row);
  }
  return rows;
}

// One constant for each version, since compilers limit the steps of evaluating a constant.
template <int minor>
constexpr Rows kRowsOf = rows_of(minor);

template <int... index>
constexpr auto rows_of_all(std::integer_sequence<int, index...>) {
  return std::array{kRowsOf<kFirstMinor + index>...};
}

constexpr auto kRows = rows_of_all(std::make_integer_sequence<int, kLastMinor - kFirstMinor + 1>{});

}  // namespace

const Meaning& meaning_of(object::Version version, uint8_t opcode) {
  PELLUCID_CHECK(!raw_table(version)[opcode].name.empty());
  return kMeanings[kRows[static_cast<size_t>(version.minor - kFirstMinor)][opcode]];
}

}  // namespace pellucid::bytecode
