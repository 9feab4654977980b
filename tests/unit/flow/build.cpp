// SPDX-License-Identifier: Apache-2.0
// flow::build: blocks, exits, limits, errors.
#include "flow/text.h"
#include "testing.h"

namespace pellucid::flow {
namespace {

using testing::graph;

TEST("a branch goes to next[0] if true, and knows which way was a jump") {
  EXPECT_EQ(graph({3, 9}, R"(
          LoadFast x
          BranchFalse no
          LoadFast y
          BranchTrue no
          LoadFast z
          ReturnValue
      no: LoadConst None
          ReturnValue
  )"),
            R"(
  block 0 offset 0 depth 0
    LoadFast x
    branch .. 1 -> 3
  block 1 offset 4 depth 0
    LoadFast y
    branch -> 3 .. 2
  block 2 offset 8 depth 0
    LoadFast z
    return
  block 3 offset 12 depth 0
    LoadConst None
    return
)");
}

TEST("an endless loop stays, behind an entry of its own") {
  EXPECT_EQ(graph({3, 9}, R"(
    loop: Jump loop
          LoadConst None
          ReturnValue
  )"),
            R"(
  block 0 offset 0 depth 0
    goto .. 1
  block 1 offset 0 depth 0
    goto -> 1
)");
}

TEST("a ring of jumps is one endless loop") {
  EXPECT_EQ(graph({3, 11}, R"(
          Jump b
       a: Jump b
       b: Jump c
       c: Jump a
  )"),
            R"(
  block 0 offset 4 depth 0
    goto .. 1
  block 1 offset 4 depth 0
    goto -> 1
)");
}

TEST("twenty blocks nest, twenty-one do not") {
  const auto nested = [](int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += "SetupFinally handler\n";
    text += "LoadGlobal f\n Pop\n";
    for (int i = 0; i < count; ++i) text += "PopBlock\n";
    return text + "LoadConst None\n ReturnValue\n handler: Reraise 3\n";
  };
  EXPECT(graph({3, 10}, nested(20)).starts_with("\n"));
  EXPECT_EQ(graph({3, 10}, nested(21)), "flow: too many nested blocks at offset 40");
}

TEST("high stacks in many blocks are refused, in one block or in few they are not") {
  const auto code = [](int values, int blocks) {
    std::string text;
    for (int i = 0; i < values; ++i) text += "LoadConst None\n";
    for (int i = 0; i < blocks; ++i) text += "LoadConst None\n BranchTrue end\n";
    return text + "Jump end\n end: LoadConst None\n ReturnValue\n";
  };
  for (const object::Version version : {object::Version{3, 9}, object::Version{3, 15}}) {
    EXPECT(graph(version, code(3000, 1000)).starts_with("\n"));
    EXPECT_EQ(graph(version, code(3000, 3000)),
              "flow: too many values on the stack in too many blocks at offset 11596");
  }
}

TEST("errors say what is wrong and where") {
  EXPECT_EQ(graph({3, 9}, R"(
          LoadFast x
          BranchTrue join
          LoadFast y
    join: LoadConst None
          ReturnValue
  )"),
            "flow: two ways in disagree about the stack (0 and 1 slots) at offset 6");
  EXPECT_EQ(graph({3, 12}, "LoadFast x\n Pop\n Pop\n LoadConst None\n ReturnValue"),
            "flow: stack underflow at offset 4");
  EXPECT_EQ(graph({3, 12}, "LoadFast x\n Pop"),
            "flow: control falls off the end of the code at offset 2");
  EXPECT_EQ(graph({3, 9}, ""), "flow: control falls off the end of the code at offset 0");
  EXPECT_EQ(graph({3, 9}, "PopBlock\n LoadConst None\n ReturnValue"),
            "flow: POP_BLOCK without a block at offset 0");
  EXPECT_EQ(graph({3, 8}, "LoadConst None\n BeginFinally\n Binary 0\n ReturnValue"),
            "flow: a finally return address is taken for a value at offset 4");
  EXPECT_EQ(graph({3, 11}, "loop: LoadFast x\n Jump loop"),
            "flow: two ways in disagree about the stack (0 and 1 slots) at offset 0");
}

TEST("a long code needs no deep stack") {
  std::string jumps, branches;
  for (int i = 0; i < 20000; ++i) {
    const std::string next = std::to_string(i + 1);
    jumps += "j" + std::to_string(i) + ": Jump j" + next + "\n";
    branches += "LoadFast x\n BranchFalse end_\n";
  }
  jumps += "j20000: LoadConst None\n ReturnValue";
  EXPECT_EQ(graph({3, 11}, jumps), R"(
  block 0 offset 40000 depth 0
    LoadConst None
    return
)");
  EXPECT(graph({3, 11}, branches + "end_: LoadConst None\n ReturnValue").starts_with("\n"));
}

}  // namespace
}  // namespace pellucid::flow
