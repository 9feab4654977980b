// SPDX-License-Identifier: Apache-2.0
// flow::build: protected regions, whether a block stack or an exception table says where they are.
#include "flow/text.h"
#include "testing.h"

namespace pellucid::flow {
namespace {

using testing::graph;

TEST("a try at the top of a loop body is inside of the loop (block stack)") {
  EXPECT_EQ(graph({3, 9}, R"(
    loop: SetupFinally handler
          LoadGlobal f
          Call 0 b=1
          Pop
          PopBlock
          Jump loop
 handler: Pop
          Pop
          Pop
          PopExcept 3
          LoadConst None
          ReturnValue
  )"),
            R"(
  handler 0 -> 3 depth 0 pushes 6 exceptions 1
  block 0 offset 0 depth 0
    goto .. 1
  block 1 offset 0 depth 0
    goto .. 2
  block 2 offset 2 depth 0 handler 0
    LoadGlobal f
    Call 0 b=1
    Pop
    goto -> 1
  block 3 offset 12 depth 6 exceptions 1
    Pop
    Pop
    Pop
    PopExcept 3
    LoadConst None
    return
)");
}

TEST("a try at the top of a loop body is inside of the loop (exception table)") {
  EXPECT_EQ(graph({3, 11}, R"(
    loop: LoadGlobal f
          PushNull
          Call 0 b=2
          Pop
    back: Jump loop
 handler: PushExcInfo
          Pop
          PopExcept 1
          LoadConst None
          ReturnValue
          try loop..back -> handler depth 0
  )"),
            R"(
  handler 0 -> 3 depth 0 pushes 1
  block 0 offset 0 depth 0
    goto .. 1
  block 1 offset 0 depth 0
    goto .. 2
  block 2 offset 0 depth 0 handler 0
    LoadGlobal f
    PushNull
    Call 0 b=2
    Pop
    goto -> 1
  block 3 offset 10 depth 1
    PushExcInfo
    Pop
    PopExcept 1
    LoadConst None
    return
)");
}

TEST("a loop inside of a try is inside of it") {
  EXPECT_EQ(graph({3, 11}, R"(
    loop: LoadGlobal f
          PushNull
          Call 0 b=2
          BranchTrue loop
     end: LoadConst None
          ReturnValue
 handler: PushExcInfo
          Reraise 1
          try loop..end -> handler depth 0
  )"),
            R"(
  handler 0 -> 3 depth 0 pushes 1
  block 0 offset 0 depth 0
    goto .. 1
  block 1 offset 0 depth 0 handler 0
    LoadGlobal f
    PushNull
    Call 0 b=2
    branch -> 1 .. 2
  block 2 offset 8 depth 0
    LoadConst None
    return
  block 3 offset 12 depth 1
    PushExcInfo
    reraise 1
)");
}

TEST("what a try returns belongs to it, what it computes behind it does not") {
  EXPECT_EQ(graph({3, 9}, R"(
          SetupFinally handler
          LoadGlobal f
          Call 0 b=1
          PopBlock
          ReturnValue
 handler: Reraise 3
  )"),
            R"(
  handler 0 -> 1 depth 0 pushes 6 exceptions 1
  block 0 offset 2 depth 0 handler 0
    LoadGlobal f
    Call 0 b=1
    return
  block 1 offset 10 depth 6 exceptions 1
    reraise 3
)");
  EXPECT_EQ(graph({3, 9}, R"(
          SetupFinally handler
          LoadGlobal f
          Call 0 b=1
          PopBlock
          StoreFast x
          LoadFast x
          ReturnValue
 handler: Reraise 3
  )"),
            R"(
  handler 0 -> 2 depth 0 pushes 6 exceptions 1
  block 0 offset 2 depth 0 handler 0
    LoadGlobal f
    Call 0 b=1
    goto .. 1
  block 1 offset 8 depth 1
    StoreFast x
    LoadFast x
    return
  block 2 offset 14 depth 6 exceptions 1
    reraise 3
)");
}

TEST("a jump into the middle of a region enters it there") {
  EXPECT_EQ(graph({3, 11}, R"(
          LoadFast a
          LoadFast b
          BranchTrue middle
          Pop
          LoadFast a
          BeforeWith b=1
    with: Pop
          LoadGlobal f
          PushNull
          Call 0 b=2
          Pop
  middle: LoadGlobal g
          PushNull
          Call 0 b=2
          Pop
     end: LoadConst None
          LoadConst None
          LoadConst None
          Call 2 b=2
          ReturnValue
 handler: PushExcInfo
          WithExceptStart 4 b=1
          BranchTrue yes
          Reraise 1 b=3
     yes: Pop
          PopExcept 1
          Pop
          Pop
          LoadConst None
          ReturnValue
          try with..end -> handler depth 1 lasti
  )"),
            R"(
  handler 0 -> 5 depth 1 pushes 2 lasti with
  block 0 offset 0 depth 0
    LoadFast a
    LoadFast b
    branch -> 3 .. 1
  block 1 offset 6 depth 1
    Pop
    LoadFast a
    BeforeWith b=1
    goto .. 2
  block 2 offset 12 depth 2 handler 0
    Pop
    LoadGlobal f
    PushNull
    Call 0 b=2
    Pop
    goto .. 3
  block 3 offset 22 depth 1 handler 0
    LoadGlobal g
    PushNull
    Call 0 b=2
    Pop
    goto .. 4
  block 4 offset 30 depth 1
    LoadConst None
    LoadConst None
    LoadConst None
    Call 2 b=2
    return
  block 5 offset 40 depth 3
    PushExcInfo
    WithExceptStart 4 b=1
    branch -> 7 .. 6
  block 6 offset 46 depth 4 exceptions 1
    reraise 1 lasti 3
  block 7 offset 48 depth 4 exceptions 1
    Pop
    PopExcept 1
    Pop
    Pop
    LoadConst None
    return
)");
}

TEST("a handler that protects itself is taken as it is") {
  EXPECT_EQ(graph({3, 11}, R"(
   start: LoadGlobal f
          Pop
          LoadConst None
          ReturnValue
 handler: Pop
          LoadGlobal g
          ReturnValue
     end: Jump end
          try start..end -> handler depth 0
  )"),
            R"(
  handler 0 -> 1 depth 0 pushes 1
  block 0 offset 0 depth 0 handler 0
    LoadGlobal f
    Pop
    LoadConst None
    return
  block 1 offset 8 depth 1 handler 0
    Pop
    LoadGlobal g
    return
)");
}

}  // namespace
}  // namespace pellucid::flow
