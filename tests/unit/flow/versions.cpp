// SPDX-License-Identifier: Apache-2.0
// flow::build: what a graph looks like where versions differ: `with` and `finally` of 3.8,
// unwinding, SEND.
#include "flow/text.h"
#include "testing.h"

namespace pellucid::flow {
namespace {

using testing::graph;

TEST("a with statement of 3.8 is spelt as 3.9 spells it") {
  const std::string with_38 = graph({3, 8}, R"(
          LoadFast a
          SetupWith cleanup
          Pop
          LoadGlobal f
          Call 0 b=1
          Pop
          PopBlock
          BeginFinally
 cleanup: WithCleanupStart
          WithCleanupFinish
          EndFinally
          LoadConst None
          ReturnValue
  )");
  EXPECT_EQ(with_38, R"(
  handler 0 -> 2 depth 1 pushes 6 with exceptions 1
  block 0 offset 0 depth 0
    LoadFast a
    BeforeWith b=1
    goto .. 1
  block 1 offset 4 depth 2 handler 0
    Pop
    LoadGlobal f
    Call 0 b=1
    Pop
    goto .. 3
  block 2 offset 16 depth 7 exceptions 1
    WithExceptStart 7 b=1
    branch -> 4 .. 5
  block 3 offset 16 depth 1
    LoadConst None
    LoadConst None
    LoadConst None
    Call 3 b=1
    Pop
    goto .. 6
  block 4 offset 18 depth 7 exceptions 1
    Pop
    Pop
    Pop
    PopExcept 3
    Pop
    goto .. 6
  block 5 offset 20 depth 7 exceptions 1
    reraise 3
  block 6 offset 22 depth 0
    LoadConst None
    return
)");
}

TEST("a finally body of 3.8 is copied for every way in") {
  // for i in a: try: if f(): return 1 finally: g()
  EXPECT_EQ(graph({3, 8}, R"(
          LoadFast a
          GetIter
    loop: ForIter done
          StoreFast i
          SetupFinally finally
          LoadGlobal f
          Call 0 b=1
          BranchFalse ok
          PopBlock
          CallFinally finally
          Pop
          LoadConst 1
          ReturnValue
      ok: PopBlock
          BeginFinally
 finally: LoadGlobal g
          Call 0 b=1
          Pop
          EndFinally
          Jump loop
    done: LoadConst None
          ReturnValue
  )"),
            R"(
  handler 0 -> 4 depth 1 pushes 6 exceptions 1
  block 0 offset 0 depth 0
    LoadFast a
    GetIter
    goto .. 1
  block 1 offset 4 depth 1
    for .. 2 -> 7
  block 2 offset 6 depth 2
    StoreFast i
    goto .. 3
  block 3 offset 10 depth 1 handler 0
    LoadGlobal f
    Call 0 b=1
    branch .. 5 -> 6
  block 4 offset 30 depth 7 exceptions 1
    LoadGlobal g
    Call 0 b=1
    Pop
    reraise 3
  block 5 offset 30 depth 1
    LoadGlobal g
    Call 0 b=1
    Pop
    Pop
    LoadConst 1
    return
  block 6 offset 30 depth 1
    LoadGlobal g
    Call 0 b=1
    Pop
    goto -> 1
  block 7 offset 40 depth 0
    LoadConst None
    return
)");
}

TEST("a finally body of 3.8 that returns drops how it was entered") {
  EXPECT_EQ(graph({3, 8}, R"(
          LoadConst None
          SetupFinally finally
          LoadGlobal f
          Call 0 b=1
          PopBlock
          Rot 2
          Pop
          CallFinally finally
          ReturnValue
 finally: LoadGlobal g
          Call 0 b=1
          PopFinally 1
          Rot 2
          Pop
          ReturnValue
          EndFinally
  )"),
            R"(
  handler 0 -> 3 depth 1 pushes 6 exceptions 1
  block 0 offset 0 depth 0
    LoadConst None
    goto .. 1
  block 1 offset 4 depth 1 handler 0
    LoadGlobal f
    Call 0 b=1
    goto .. 2
  block 2 offset 10 depth 2
    Rot 2
    Pop
    LoadGlobal g
    Call 0 b=1
    goto .. 4
  block 3 offset 18 depth 7 exceptions 1
    LoadGlobal g
    Call 0 b=1
    Rot 4
    Pop
    Pop
    Pop
    Rot 4
    PopExcept 3
    goto .. 4
  block 4 offset 24 depth 2
    Rot 2
    Pop
    return
)");
}

TEST("no return address of a finally body of 3.8 is kept above another one") {
  // CPython returns to the upper one.
  EXPECT_EQ(graph({3, 8}, R"(
          CallFinally outer
          LoadConst 1
          ReturnValue
   outer: CallFinally inner
          LoadConst 2
          ReturnValue
   inner: PopFinally 1
          EndFinally
  )"),
            "flow: a finally return address is taken for a value at offset 12");
}

TEST("the cleanup of a with statement of 3.8 is no finally body that is called") {
  EXPECT_EQ(graph({3, 8}, R"(
          LoadGlobal exit
          CallFinally clean
          LoadConst None
          ReturnValue
   clean: WithCleanupStart
          WithCleanupFinish
          EndFinally
  )"),
            "flow: a with statement's cleanup is called at offset 8");
}

TEST("a finally body inside of an except clause is told from one around it") {
  // Both contexts of `inner` have one exception and one finally slot; their order differs.
  const std::string text = R"(
          SetupFinally outer
          PopBlock
          BeginFinally
   outer: SetupFinally inner
          LoadGlobal f
          Call 0 b=1
          Pop
          PopBlock
          BeginFinally
   inner: LoadGlobal g
          Call 0 b=1
          Pop
          EndFinally
          EndFinally
          LoadConst None
          ReturnValue
  )";
  EXPECT(graph({3, 8}, text).starts_with("\n"));
}

TEST("the cleanup handler of 3.11 is unwinding, not control flow") {
  EXPECT_EQ(graph({3, 11}, R"(
   start: LoadGlobal f
          PushNull
          Call 0 b=2
          Pop
     end: LoadConst None
          ReturnValue
 handler: PushExcInfo
          LoadGlobal g
          PushNull
          Call 0 b=2
          Pop
          Reraise 1
 cleanup: Copy 3
          PopExcept 1
          Reraise 1 b=2
          try start..end -> handler depth 0
          try handler..cleanup -> cleanup depth 1 lasti
  )"),
            R"(
  handler 0 -> 2 depth 0 pushes 1
  block 0 offset 0 depth 0 handler 0
    LoadGlobal f
    PushNull
    Call 0 b=2
    Pop
    goto .. 1
  block 1 offset 8 depth 0
    LoadConst None
    return
  block 2 offset 12 depth 1
    PushExcInfo
    LoadGlobal g
    PushNull
    Call 0 b=2
    Pop
    reraise 1
)");
}

TEST("a SEND loop is a YieldFrom (3.11)") {
  EXPECT_EQ(graph({3, 11}, R"(
          LoadFast a
          GetAwaitable 0
          LoadConst None
    send: Send done b=1
          YieldValue
          Jump send
    done: ReturnValue
  )"),
            R"(
  block 0 offset 0 depth 0
    LoadFast a
    GetAwaitable 0
    LoadConst None
    YieldFrom
    return
)");
}

TEST("a SEND loop and its CLEANUP_THROW are a YieldFrom (3.12)") {
  EXPECT_EQ(graph({3, 12}, R"(
   start: LoadFast a
          GetAwaitable 0
          LoadConst None
    send: Send done
   yield: YieldValue
    back: Jump send
    done: Swap 2
          Pop
          ReturnValue
   throw: CleanupThrow
          Jump done
    wrap: Intrinsic1 3
          Reraise 1 b=2
     end: Jump end
          try start..yield -> wrap depth 0 lasti
          try yield..back -> throw depth 2
          try back..wrap -> wrap depth 0 lasti
  )"),
            R"(
  block 0 offset 0 depth 0
    LoadFast a
    GetAwaitable 0
    LoadConst None
    YieldFrom
    return
)");
}

TEST("a SEND of another shape stays") {
  EXPECT_EQ(graph({3, 12}, R"(
          LoadFast a
          LoadConst None
          Send done
          ReturnValue
    done: Swap 2
          Pop
          ReturnValue
  )"),
            R"(
  block 0 offset 0 depth 0
    LoadFast a
    LoadConst None
    send .. 1 -> 2
  block 1 offset 6 depth 2
    return
  block 2 offset 8 depth 2
    Swap 2
    Pop
    return
)");
}

TEST("the iterator of 3.15 is one for loops alone") {
  const auto of = [](const std::string& after) {
    return graph({3, 15}, "LoadFast a\nGetIter\nPushNull\n" + after);
  };
  const std::string used = "flow: the iterator of a loop is used for something else at offset ";
  EXPECT_EQ(of("Pop\nReturnValue"), used + "8");
  EXPECT_EQ(of("Pop\nStoreFast b\nLoadConst None\nReturnValue"), used + "8");
  EXPECT_EQ(of("Pop\nBuildList 1\nReturnValue"), used + "8");
  // On one way to a join, and where an exception leaves it.
  EXPECT_EQ(of("Pop\nLoadFast b\nBranchTrue end\nPop\nLoadFast b\nend: ReturnValue"), used + "16");
  EXPECT_EQ(of("Pop\nbegin: LoadGlobal f\nend: Pop\nPop\nLoadConst None\nReturnValue\n"
               "handler: Pop\nReturnValue\ntry begin..end -> handler depth 1"),
            used + "20");
  const std::string loop =
      of("loop: ForIter end b=1\nPop\nJump loop\nend: LoadConst None\nReturnValue");
  EXPECT(loop.find(used) == std::string::npos && loop.find("block 1") != std::string::npos);
  EXPECT(of("Pop\nPop\nLoadConst None\nReturnValue").find("return") != std::string::npos);
}

}  // namespace
}  // namespace pellucid::flow
