// SPDX-License-Identifier: Apache-2.0
// bytecode::decode: how the versions meet in the canonical vocabulary (ops.def).
#include "bytecode/assembler.h"
#include "testing.h"

namespace pellucid::bytecode {
namespace {

using testing::Assembler;

TEST("EXTENDED_ARG is part of the instruction behind it and a jump may lead to it") {
  Assembler code(3, 9);
  code.names.resize(300, "far");
  code.op("LOAD_NAME", 299).op("POP_TOP").op("JUMP_ABSOLUTE", 0);
  EXPECT_EQ(code.stream(), R"(
  line 1
>> 0 LoadName far
   1 Pop
   2 Jump -> 0
)");
}

TEST("a jump past an EXTENDED_ARG is followed") {
  Assembler code(3, 9);
  code.names.resize(300, "far");
  code.op("LOAD_NAME", 299).op("JUMP_ABSOLUTE", 2);
  EXPECT_EQ(code.stream(), R"(
  line 1
   0 LoadName far
   1 Jump -> 3
>> 2 LoadName far
>> 3 Jump -> 2
)");
}

TEST("stack shuffles of 3.8 are Copy and Rot") {
  Assembler code(3, 8);
  code.op("DUP_TOP").op("DUP_TOP_TWO").op("ROT_TWO").op("ROT_THREE").op("ROT_FOUR");
  EXPECT_EQ(code.stream(), R"(
  line 1
   0 Copy 1
   1 Copy 2
   2 Copy 2
   3 Rot 2
   4 Rot 3
   5 Rot 4
)");
}

TEST("JUMP_IF_TRUE_OR_POP is copy, branch, pop") {
  Assembler code(3, 10);
  code.op("LOAD_FAST", 0).op("JUMP_IF_TRUE_OR_POP", 3).op("LOAD_FAST", 1).op("RETURN_VALUE");
  EXPECT_EQ(code.stream(), R"(
   0 LoadFast v0
   1 Copy 1
   2 BranchTrue -> 5
   3 Pop
   4 LoadFast v1
>> 5 ReturnValue
)");
}

TEST("comparisons of 3.8 that are none have their own operations") {
  Assembler code(3, 8);
  code.op("COMPARE_OP", 5).op("COMPARE_OP", 7).op("COMPARE_OP", 8).op("COMPARE_OP", 10);
  EXPECT_EQ(code.stream(), R"(
  line 1
   0 Compare >=
   1 ContainsOp 1
   2 IsOp 0
   3 ExcMatch
)");
}

TEST("the argument of COMPARE_OP moved twice") {
  EXPECT_EQ(Assembler(3, 11).op("COMPARE_OP", 4).stream(), "\n   0 Compare >\n");
  EXPECT_EQ(Assembler(3, 12).op("COMPARE_OP", 4 << 4 | 3).stream(), "\n   0 Compare >\n");
  EXPECT_EQ(Assembler(3, 13).op("COMPARE_OP", 4 << 5 | 16).stream(), "\n   0 Compare >\n");
}

TEST("LOAD_GLOBAL pushes its NULL below until 3.12 and above since 3.13") {
  EXPECT_EQ(Assembler(3, 12).op("LOAD_GLOBAL", 3).stream(),
            "\n   0 PushNull\n   1 LoadGlobal n1\n");
  EXPECT_EQ(Assembler(3, 13).op("LOAD_GLOBAL", 3).stream(),
            "\n   0 LoadGlobal n1\n   1 PushNull\n");
  EXPECT_EQ(Assembler(3, 10).op("LOAD_GLOBAL", 1).stream(), "\n   0 LoadGlobal n1\n");
}

TEST("methods are loaded by LOAD_METHOD, LOAD_ATTR or LOAD_SUPER_ATTR") {
  EXPECT_EQ(Assembler(3, 11).op("LOAD_METHOD", 1).stream(), "\n   0 LoadMethod n1\n");
  EXPECT_EQ(Assembler(3, 12).op("LOAD_ATTR", 3).stream(), "\n   0 LoadMethod n1\n");
  EXPECT_EQ(Assembler(3, 12).op("LOAD_ATTR", 2).stream(), "\n   0 LoadAttr n1\n");
  EXPECT_EQ(Assembler(3, 12).op("LOAD_SUPER_ATTR", 1 << 2 | 1).stream(),
            "\n   0 LoadSuper 0\n   1 LoadMethod n1\n");
  EXPECT_EQ(Assembler(3, 13).op("LOAD_SUPER_ATTR", 2 << 2 | 2).stream(),
            "\n   0 LoadSuper 1\n   1 LoadAttr n2\n");
}

TEST("KW_NAMES makes the next call a CallKw, past 3.11's PRECALL") {
  Assembler code(3, 11);
  code.op("KW_NAMES", 1).op("PRECALL", 3).op("CALL", 3).op("PRECALL", 0).op("CALL", 0);
  EXPECT_EQ(code.stream(), R"(
   0 LoadConst 7
   1 CallKw 3 b=2
   2 Call 0 b=2
)");
  EXPECT_EQ(Assembler(3, 13).op("CALL_KW", 3).stream(), "\n   0 CallKw 3 b=2\n");
  EXPECT_EQ(Assembler(3, 8).op("CALL_FUNCTION_KW", 3).stream(), "\n  line 1\n   0 CallKw 3 b=1\n");
}

TEST("calls with unpacked arguments tell their callable slots") {
  EXPECT_EQ(Assembler(3, 10).op("CALL_FUNCTION_EX", 1).stream(), "\n   0 CallEx 1 b=1\n");
  EXPECT_EQ(Assembler(3, 11).op("CALL_FUNCTION_EX", 0).stream(), "\n   0 CallEx 0 b=2\n");
  EXPECT_EQ(Assembler(3, 14).op("CALL_FUNCTION_EX").stream(), "\n   0 CallEx 1 b=2\n");
}

TEST("MAKE_FUNCTION pops the qualified name until 3.10") {
  EXPECT_EQ(Assembler(3, 10).op("MAKE_FUNCTION", 8).stream(), "\n   0 MakeFunction 8 b=1\n");
  EXPECT_EQ(Assembler(3, 11).op("MAKE_FUNCTION", 8).stream(), "\n   0 MakeFunction 8\n");
  EXPECT_EQ(Assembler(3, 13).op("MAKE_FUNCTION").op("SET_FUNCTION_ATTRIBUTE", 8).stream(),
            "\n   0 MakeFunction 0\n   1 SetFunctionAttribute 8\n");
}

TEST("binary operators have CPython's numbers from 3.11 on, and the subscript in 3.14") {
  EXPECT_EQ(Assembler(3, 11).op("BINARY_OP", 10).op("BINARY_OP", 13 + 2).stream(),
            "\n   0 Binary -\n   1 Binary //=\n");
  EXPECT_EQ(Assembler(3, 14).op("BINARY_OP", 26).stream(), "\n   0 Subscr\n");
  EXPECT_EQ(Assembler(3, 13).op("BINARY_OP", 26).stream(),
            "\n   0 Unsayable 0  # bytecode: BINARY_OP 26: no such operator at offset 0\n"
            "   1 Raise 0\n");
}

TEST("the prologue is dropped, a cell made later is not") {
  Assembler code(3, 12);
  code.cellvars = {"cell"};
  code.op("MAKE_CELL", 2).op("RETURN_GENERATOR").op("POP_TOP").op("RESUME");
  code.op("LOAD_FAST_AND_CLEAR", 2).op("MAKE_CELL", 2).op("LOAD_FAST", 2).op("STORE_FAST", 2);
  EXPECT_EQ(code.stream(), R"(
   0 LoadFastAndClear cell
   1 MakeCell cell
   2 LoadClosure cell
   3 StoreFast cell
)");
}

TEST("super-instructions are split") {
  Assembler code(3, 13);
  code.op("LOAD_FAST_LOAD_FAST", 0 << 4 | 1).op("STORE_FAST_LOAD_FAST", 1 << 4 | 0);
  code.op("STORE_FAST_STORE_FAST", 1 << 4 | 0).op("RETURN_CONST", 1);
  EXPECT_EQ(code.stream(), R"(
   0 LoadFast v0
   1 LoadFast v1
   2 StoreFast v1
   3 LoadFast v0
   4 StoreFast v1
   5 StoreFast v0
   6 LoadConst 7
   7 ReturnValue
)");
}

TEST("TO_BOOL is dropped only where the next instruction tests the value") {
  Assembler code(3, 13);
  code.op("TO_BOOL").op("UNARY_NOT").op("TO_BOOL").op("POP_JUMP_IF_FALSE", 4);
  code.op("TO_BOOL").op("RETURN_VALUE");
  EXPECT_EQ(code.stream(), R"(
   0 Unary not
   1 BranchFalse -> 3
   2 ToBool
>> 3 ReturnValue
)");
}

// The exhausted edge leads after END_FOR and what pops the iterator, which both disappear.
TEST("FOR_ITER leads past the end of the loop in every version") {
  Assembler since_314(3, 14);
  since_314.op("FOR_ITER", 3).op("POP_TOP").op("JUMP_BACKWARD", 5).op("END_FOR").op("POP_ITER");
  since_314.op("RETURN_VALUE");
  const std::string wanted = R"(
>> 0 ForIter -> 3
   1 Pop
   2 Jump -> 0
>> 3 ReturnValue
)";
  EXPECT_EQ(since_314.stream(), wanted);
  Assembler in_313(3, 13);
  in_313.op("FOR_ITER", 3).op("POP_TOP").op("JUMP_BACKWARD", 5).op("END_FOR").op("POP_TOP");
  EXPECT_EQ(in_313.op("RETURN_VALUE").stream(), wanted);
  Assembler in_312(3, 12);
  in_312.op("FOR_ITER", 2).op("POP_TOP").op("JUMP_BACKWARD", 4).op("END_FOR").op("RETURN_VALUE");
  EXPECT_EQ(in_312.stream(), wanted);
  Assembler in_311(3, 11);
  in_311.op("FOR_ITER", 2).op("POP_TOP").op("JUMP_BACKWARD", 3).op("RETURN_VALUE");
  EXPECT_EQ(in_311.stream(), wanted);
}

TEST("an END_FOR that something else leads to pops what it does") {
  Assembler code(3, 12);
  code.op("FOR_ITER", 2).op("POP_TOP").op("JUMP_FORWARD", 0).op("END_FOR").op("RETURN_VALUE");
  EXPECT_EQ(code.stream(), R"(
   0 ForIter -> 5
   1 Pop
   2 Jump -> 3
>> 3 Pop
   4 Pop
>> 5 ReturnValue
)");
}

TEST("a with statement of 3.14 begins with BeforeWith of two slots") {
  Assembler code(3, 14);
  code.op("LOAD_FAST", 0).op("COPY", 1).op("LOAD_SPECIAL", 1).op("SWAP", 2).op("SWAP", 3);
  code.op("LOAD_SPECIAL", 0).op("CALL", 0).op("POP_TOP").op("WITH_EXCEPT_START");
  EXPECT_EQ(code.stream(), R"(
   0 LoadFast v0
   1 BeforeWith b=2
   2 Pop
   3 WithExceptStart 5 b=2
)");
}

TEST("the parts of a with statement apart stay as they are") {
  Assembler code(3, 14);
  code.op("COPY", 1).op("LOAD_SPECIAL", 1).op("SWAP", 2).op("LOAD_SPECIAL", 3);
  EXPECT_EQ(code.stream(), R"(
   0 Copy 1
   1 LoadSpecial 1
   2 Swap 2
   3 LoadSpecial 3
)");
}

TEST("small ints of 3.14 are constants") {
  EXPECT_EQ(Assembler(3, 14).op("LOAD_SMALL_INT", 200).stream(), "\n   0 LoadConst 200\n");
  EXPECT_EQ(Assembler(3, 14).op("LOAD_SMALL_INT", 300).stream(),
            "\n   0 Unsayable 0  # bytecode: LOAD_SMALL_INT 300: not a small int at offset 2\n   1 "
            "Raise 0\n");
}

TEST("the values of asynchronous generators are wrapped in every version") {
  Assembler code(3, 9);
  code.flags |= object::kAsyncGenerator;
  EXPECT_EQ(code.op("YIELD_VALUE").stream(), "\n  line 1\n   0 Intrinsic1 4\n   1 YieldValue\n");
  EXPECT_EQ(Assembler(3, 11).op("ASYNC_GEN_WRAP").op("YIELD_VALUE").stream(),
            "\n   0 Intrinsic1 4\n   1 YieldValue\n");
}

TEST("intrinsics that were opcodes before are the same operations") {
  Assembler code(3, 12);
  code.op("CALL_INTRINSIC_1", 2).op("POP_TOP").op("CALL_INTRINSIC_1", 5).op("CALL_INTRINSIC_1", 6);
  EXPECT_EQ(code.stream(), "\n   0 ImportStar\n   1 Unary +\n   2 ListToTuple\n");
}

TEST("exception tables are in canonical indices, without what they no longer cover") {
  Assembler code(3, 11);
  code.op("RESUME").op("NOP").op("LOAD_FAST", 0).op("RETURN_VALUE").op("PUSH_EXC_INFO");
  // NOP alone, then LOAD_FAST and RETURN_VALUE with lasti, at depth 2.
  code.exceptiontable = std::string("\x81\x01\x04\x00\x82\x02\x04\x05", 8);
  code.op("RERAISE", 1);
  EXPECT_EQ(code.stream(), R"(
   0 LoadFast v0
   1 ReturnValue
>> 2 PushExcInfo
   3 Reraise 1 b=2
  except 0..2 -> 2 depth 2 lasti
)");
}

TEST("what is reached and cannot be said stands in its place, with its offset") {
  Assembler half(3, 12);
  half.bytecode = std::string("\x09\x00\x53\x00\x01", 5);
  EXPECT_EQ(half.stream(), "\n   0 ReturnValue\n  # bytecode: half a code unit at the end\n");
  Assembler unknown(3, 12);
  unknown.bytecode = std::string("\x09\x00\xfe\x00", 4);
  EXPECT_EQ(unknown.stream(), "\n   0 Unsayable 0  # bytecode: unknown opcode 254 at offset 2\n");
  const auto place = [](const std::string& what) {
    return "\n   0 Unsayable 0  # bytecode: " + what + " at offset 0\n   1 Raise 0\n";
  };
  EXPECT_EQ(Assembler(3, 12).op("LOAD_CONST", 2).stream(), place("LOAD_CONST 2: no such constant"));
  EXPECT_EQ(Assembler(3, 12).op("LOAD_NAME", 3).stream(), place("LOAD_NAME 3: no such name"));
  EXPECT_EQ(Assembler(3, 12).op("LOAD_FAST", 2).stream(), place("LOAD_FAST 2: no such local"));
  EXPECT_EQ(Assembler(3, 12).op("LOAD_DEREF", 9).stream(), place("LOAD_DEREF 9: no such cell"));
  EXPECT_EQ(Assembler(3, 12).op("EXTENDED_ARG", 1).stream(),
            "\n   0 Unsayable 0  # bytecode: EXTENDED_ARG without an instruction at offset 2\n");
  EXPECT_EQ(Assembler(3, 12).op("JUMP_FORWARD", 0).stream(), R"(
   0 Jump -> 1
>> 1 Unsayable 0  # bytecode: control leaves the code at offset 2
)");
  Assembler cut(3, 12);
  cut.op("LOAD_GLOBAL", 0).bytecode.resize(4);
  EXPECT_EQ(cut.stream(),
            "\n   0 Unsayable 0  # bytecode: an inline cache is cut off at offset 0\n");
}

TEST("what nothing reaches costs nothing") {
  Assembler after(3, 12);
  after.op("LOAD_FAST", 0).op("RETURN_VALUE");
  after.bytecode += "\xfe\x07\x05";
  EXPECT_EQ(after.stream(),
            "\n   0 LoadFast v0\n   1 ReturnValue\n  # bytecode: half a code unit at the end\n");
  // The jump leads past an EXTENDED_ARG.
  EXPECT_EQ(Assembler(3, 12)
                .op("JUMP_FORWARD", 1)
                .op("EXTENDED_ARG", 7)
                .op("LOAD_FAST", 0)
                .op("RETURN_VALUE")
                .stream(),
            R"(
   0 Jump -> 1
>> 1 LoadFast v0
   2 ReturnValue
)");
  // The same instruction with its prefix and without.
  EXPECT_EQ(Assembler(3, 12)
                .op("LOAD_FAST", 0)
                .op("POP_JUMP_IF_TRUE", 1)
                .op("EXTENDED_ARG", 0)
                .op("LOAD_FAST", 1)
                .op("RETURN_VALUE")
                .stream(),
            R"(
   0 LoadFast v0
   1 BranchTrue -> 4
   2 LoadFast v1
   3 Jump -> 5
>> 4 LoadFast v1
>> 5 ReturnValue
)");
}

TEST("a test of a constant goes one way where the other cannot be read") {
  Assembler code(3, 8);
  code.op("LOAD_CONST", 0).op("POP_JUMP_IF_FALSE", 6);
  code.bytecode += std::string("\xfe\x00", 2);
  EXPECT_EQ(code.op("LOAD_FAST", 0).op("RETURN_VALUE").stream(), R"(
  line 1
   0 LoadConst None
   1 Pop
   2 Jump -> 3
>> 3 LoadFast v0
   4 ReturnValue
)");
}

TEST("the three line tables are read") {
  Assembler old(3, 8);
  old.linetable = std::string("\x02\x01\x02\xfd", 4);
  EXPECT_EQ(old.op("NOP").op("POP_TOP").op("RETURN_VALUE").stream(),
            "\n  line 2\n   0 Pop\n  line -1\n   1 ReturnValue\n");
  Assembler middle(3, 10);
  middle.linetable = std::string("\x02\x01\x02\x80\x02\x01", 6);
  EXPECT_EQ(middle.op("POP_TOP").op("POP_TOP").op("RETURN_VALUE").stream(),
            "\n  line 2\n   0 Pop\n  line -1\n   1 Pop\n  line 3\n   2 ReturnValue\n");
  Assembler since_311(3, 11);
  // No columns, one line further; no location; one line form with two lines further.
  since_311.linetable = std::string("\xe8\x02\xf8\xe0\x00\x00", 6);
  EXPECT_EQ(since_311.op("POP_TOP").op("POP_TOP").op("RETURN_VALUE").stream(),
            "\n  line 2\n   0 Pop\n  line -1\n   1 Pop\n  line 4\n   2 ReturnValue\n");
  // Without a sound one the code is what it is.
  since_311.linetable = "\xf0";
  EXPECT_EQ(since_311.stream(), "\n   0 Pop\n   1 Pop\n   2 ReturnValue\n");
}

}  // namespace
}  // namespace pellucid::bytecode
