// flow::build: blocks, exits, regions; what a graph looks like where versions differ.
#include "flow_text.h"
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
    LoadConst None
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
