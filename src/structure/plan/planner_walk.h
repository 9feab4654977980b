// SPDX-License-Identifier: Apache-2.0
// Planner: the walk of make_plan(). It follows control from a block, appending actions to a suite,
// until control falls through to the follow of the enclosing statement (Scope::follow) or leaves by
// a jump. The function of the construct that a block starts continues the walk: of a protected
// region (regions.cpp), a loop or a branch (branches.cpp).
#pragma once

#include <optional>

#include "structure/plan/context.h"
#include "structure/plan/loop_exits.h"
#include "structure/plan/plan.h"
#include "structure/plan/try_exits.h"

namespace pellucid::structure {

class Planner {
 public:
  Planner(const PlanContext& context, const IsOneExpression& is_one_expression)
      : c_(context), graph_(context.graph), is_one_expression_(is_one_expression) {}

  Plan run();

 private:
  bool follow(BlockId block, const Scope& scope);
  SuiteId suite(BlockId block, const Scope& scope);
  std::optional<bool> end_of_suite(BlockId block, const Scope& scope, bool jumps);
  bool reraise(BlockId block, const Scope& scope);

  void add(ActionKind kind, BlockId block, size_t index = 0);
  SuiteId new_suite();
  [[noreturn]] void refuse(const char* why, BlockId block) const;
  [[noreturn]] void refuse_in_suite(const char* why, BlockId block);
  void check_handled(BlockId block, const Scope& scope) const;

  // regions.cpp
  BlockId region(HandlerId handler, BlockId block, const Scope& scope);
  BlockId label(BlockId block, BlockId follow, const Scope& scope);
  BlockId with_statement(HandlerId handler, BlockId block, const Scope& scope);
  BlockId try_finally(HandlerId handler, BlockId block, const Scope& scope);
  BlockId try_except(HandlerId handler, const TryEnds& ends, BlockId block, const Scope& scope);
  void clauses(size_t index, const Scope& scope);

  // branches.cpp
  BlockId branch(BlockId block, const Scope& scope, bool& falls);
  BlockId once(BlockId block, uint8_t edge, const Scope& scope);
  BlockId match(BlockId block, const Scope& scope, bool& falls);
  BlockId meeting_point(BlockId block, const Scope& scope) const;
  bool ends_in_continue(BlockId block, uint8_t near, const Scope& scope) const;
  BlockId for_loop(BlockId block, const Scope& scope);
  BlockId while_loop(BlockId block, const Scope& scope);
  void endless(BlockId block, const Scope& scope);

  const PlanContext& c_;
  const Graph& graph_;
  const IsOneExpression& is_one_expression_;
  Plan plan_;
  SuiteId here_;       // the suite that is being filled
  size_t budget_ = 0;  // blocks that may still be planned, repetitions included
  size_t depth_ = 0;
  BlockId from_;  // the block that control last fell through from, if it did
};

}  // namespace pellucid::structure
