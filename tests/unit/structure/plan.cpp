// SPDX-License-Identifier: Apache-2.0
// The plan of a reduced graph: tests/unit/structure/plan/<construct>/<case>.txt.
//
// graph_text.h says how to read the graph; `tools/step_case.py plan/<construct>` makes such a file
// from Python.
#include "structure/plan/plan.h"

#include "golden.h"
#include "structure/graph_text.h"
#include "structure/plan_text.h"

namespace pellucid::structure {
namespace {

std::string run_plan(const std::string&, const std::string& input) {
  return plan_text(*read_graph(input).reduction);
}

const bool plans_are_registered = testing::register_goldens("structure/plan", run_plan);

TEST("plans of each construct are tested") {
  namespace fs = std::filesystem;
  const fs::path folder = PELLUCID_SOURCE_DIR "/tests/unit/structure/plan";
  for (const char* construct : {"try", "with", "loops", "branches", "jumps", "escapes"}) {
    EXPECT(plans_are_registered && fs::is_directory(folder / construct));
  }
}

// A `while` with an `if` that breaks, and what follows.
constexpr const char* kLoop = R"(
python 3.12
b0
  line 2
  v1 = LoadFast a
  branch v1 -> b1 -> b4
b1
  line 3
  v2 = LoadFast b
  branch v2 -> b2 -> b3
b2
  line 4
  v3 = LoadGlobal c
  v4 = Call 0,2 v3
  v5 = Pop v4
  goto -> b4
b3
  line 5
  v6 = LoadGlobal d
  v7 = Call 0,2 v6
  v8 = Pop v7
  goto -> b0
b4
  line 6
  v9 = LoadGlobal e
  v10 = Call 0,2 v9
  return v10
)";

// Returns true if check() accepts the plan of kLoop after `spoil` has changed it.
template <typename Spoil>
bool is_accepted(Spoil spoil) {
  const TextGraph text = read_graph(kLoop);
  Plan plan = plan_of(*text.reduction);
  spoil(plan);
  try {
    check(text.reduction->graph, plan);
  } catch (const InternalError&) {
    return false;
  }
  return true;
}

TEST("a plan that the planner makes is accepted") {
  EXPECT(is_accepted([](Plan&) {}));
}

TEST("a suite that belongs to two statements is no plan") {
  EXPECT(!is_accepted([](Plan& plan) { plan.branches[0].body = plan.loops[0].body; }));
}

TEST("a suite that belongs to no statement is no plan") {
  EXPECT(!is_accepted([](Plan& plan) { plan.suites.emplace_back(); }));
}

TEST("nothing comes after the end of a suite") {
  EXPECT(!is_accepted([](Plan& plan) {
    std::vector<Action>& actions = plan[plan.loops[0].body].actions;
    actions.insert(actions.begin(), {ActionKind::FallOff, {}, 0});
  }));
}

TEST("a break stands in a loop") {
  EXPECT(!is_accepted([](Plan& plan) {
    plan[plan.body].actions.push_back({ActionKind::Break, {}, 0});
    plan[plan.body].falls = false;
  }));
}

TEST("a block that does anything is planned") {
  EXPECT(!is_accepted([](Plan& plan) {
    std::vector<Action>& actions = plan[plan.body].actions;
    actions.erase(actions.end() - 2);  // the call of e
  }));
}

TEST("what is refused has a reason") {
  EXPECT(!is_accepted(
      [](Plan& plan) { plan[plan.body].actions.push_back({ActionKind::Refuse, {}, 0}); }));
}

}  // namespace
}  // namespace pellucid::structure
