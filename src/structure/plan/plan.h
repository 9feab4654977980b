// SPDX-License-Identifier: Apache-2.0
// Plan: the statements of a reduced graph, before any of them is written: where each loop, `try`
// and `if` ends, what follows it, what its `else` is, and which jump is which statement.
//
// A plan is a tree of suites (Python's word for the statements under a colon). A suite is a list of
// actions in the order of the text; an action that is a compound statement refers to the plan of
// that statement, which has further suites. make_plan() (planner.h) computes it from a graph that
// it does not change; the emitter writes it and decides nothing about control flow.
#pragma once

#include <string>
#include <vector>

#include "structure/graph/graph.h"

namespace pellucid::structure {

using SuiteId = Id<struct SuiteTag>;

enum class ActionKind : uint8_t {
  Run,       // the items of the block, and the arguments of its edge if it ends in a Goto
  Leave,     // the `return` or `raise` that ends the block
  Reraise,   // the end of a `finally` body, which raises the exception again
  If,        // Plan::branches
  Once,      // Plan::branches: a `while` whose body ends in `break`
  Match,     // Plan::matches
  For,       // Plan::loops
  While,     // Plan::loops
  Try,       // Plan::tries
  Finally,   // Plan::tries
  With,      // Plan::tries
  Label,     // Plan::labels
  Break,     // block: the predecessor, whose exit has the line; may be invalid
  Continue,  // the same
  Lost,      // a jump statement that a `finally` body overtakes: Plan::lost
  FallOff,   // the end of the suite: values that are used later outlive it
  Refuse,    // no statements are known for the code here: Plan::refusal
};

struct Action {
  ActionKind kind = ActionKind::Run;
  BlockId block;
  uint32_t index = 0;  // into the list of the plan that belongs to the kind
};

struct Suite {
  std::vector<Action> actions;
  bool falls = false;  // control reaches its end
};

struct BranchPlan {
  uint8_t edge = 0;  // the edge of the block into the body; the test is negated if it is 1
  BlockId follow;    // the merge point of the arms; invalid: there is none
  SuiteId body;
  SuiteId orelse;          // invalid: the code after the `if` is the other arm, or there is none
  bool continues = false;  // the body ends in a `continue`, though it falls off its end
};

struct CasePlan {
  BlockId test;
  SuiteId body;  // invalid: its guard is constant and false
};

struct MatchPlan {
  BlockId follow;
  std::vector<CasePlan> cases;
  SuiteId rest;               // after the last case has failed
  bool bodies_fall = false;   // control reaches the end of a case
  bool is_in_circle = false;  // its cases lead to one another
};

struct LoopPlan {
  BlockId follow;      // where `break` leads; may be invalid
  bool tests = false;  // the header is the test; without, it starts the body of a `while True`
  uint8_t stay = 0;    // the edge of the test into the body
  SuiteId body, orelse;
};

struct ClausePlan {
  BlockId test;           // where the exception is matched, or the body of a bare `except:`
  bool has_type = false;  // the block tests for a type
  bool is_refused = false;
  SuiteId body;
};

// Except, ExceptStar, Finally, With.
struct TryPlan {
  HandlerId handler;
  BlockId follow;
  SuiteId body;
  std::vector<ClausePlan> clauses;
  SuiteId orelse;     // invalid: there is no `else`
  SuiteId finalbody;  // Finally
};

// `while True:` around a statement, so that a `break` can lead to the code after it.
struct LabelPlan {
  BlockId follow;
  SuiteId body;
};

enum class LostJump : uint8_t { Break, Continue, Return };

// The value is a constant; invalid: none is written.
struct LostPlan {
  LostJump jump = LostJump::Return;
  object::ConstId value;
};

struct Refusal {
  std::string why;
  uint32_t offset = 0;
};

struct Plan {
  SuiteId body;
  std::vector<Suite> suites;
  std::vector<BranchPlan> branches;
  std::vector<MatchPlan> matches;
  std::vector<LoopPlan> loops;
  std::vector<TryPlan> tries;
  std::vector<LabelPlan> labels;
  std::vector<LostPlan> lost;
  Refusal refusal;  // of the Refuse action, which ends the plan; one at most

  Suite& operator[](SuiteId id) { return part_of(suites, id); }
  const Suite& operator[](SuiteId id) const { return part_of(suites, id); }
};

// The plan as text, nested as the statements will be.
std::string dump(const Graph& graph, const Plan& plan);

// Checks what the emitter relies on: every suite belongs to one statement and ends once, a `break`
// is within a loop and a `continue` directly within one that has a header, and a block runs where
// the same handlers protect it as in the graph.
void check(const Graph& graph, const Plan& plan);

}  // namespace pellucid::structure
