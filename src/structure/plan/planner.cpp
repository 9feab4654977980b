// SPDX-License-Identifier: Apache-2.0
#include "structure/plan/planner.h"

#include "structure/graph/block_kinds.h"
#include "structure/graph/items.h"
#include "structure/graph/not_structured.h"
#include "structure/plan/jumps.h"
#include "structure/plan/planner_walk.h"

namespace pellucid::structure {

namespace {
// CPython's own parser stops at 100 levels of indentation; `elif` chains take one level each here.
constexpr size_t kDeepest = 4000;

// Returns the region that the block is in and the scope is not; invalid: there is none, as for a
// loop that continues outside the region: the loop contains the `try` and not the other way round.
HandlerId entered(const PlanContext& c, BlockId block, const Scope& scope) {
  HandlerId enter = c.graph[block].handler;
  while (c.graph.handlers[enter.index()].outer != scope.handler) {
    enter = c.graph.handlers[enter.index()].outer;
  }
  const Loop* loop = loop_at(c, block);
  return loop != nullptr && continues_outside(c, *loop, enter) ? HandlerId() : enter;
}

}  // namespace

Plan Planner::run() {
  budget_ = 4 * graph_.order().size() + 64;
  plan_.suites.reserve(graph_.order().size());
  plan_.body = here_ = new_suite();
  try {
    if (!c_.analysis.reducible) refuse("a loop with several entries", graph_.entry());
    const bool falls = follow(graph_.entry(), {});
    plan_[plan_.body].falls = falls;
  } catch (const NotStructured& refused) {
    // The suites around this one are unchanged: their ends are not reached.
    add(ActionKind::Refuse, {});
    plan_.refusal = {refused.what(), refused.offset};
  }
  return std::move(plan_);
}

void Planner::add(ActionKind kind, BlockId block, size_t index) {
  plan_[here_].actions.push_back({kind, block, static_cast<uint32_t>(index)});
}

SuiteId Planner::new_suite() {
  constexpr size_t kUsual = 4;  // most suites are short
  plan_.suites.emplace_back();
  plan_.suites.back().actions.reserve(kUsual);
  return SuiteId(plan_.suites.size() - 1);
}

void Planner::refuse(const char* why, BlockId block) const {
  const ir::Block& b = graph_[block];
  throw NotStructured(why, b.items.empty() ? b.exit_offset : graph_[b.items[0]].offset);
}

// Refuses a suite that would begin now: the actions before it stay in the plan.
void Planner::refuse_in_suite(const char* why, BlockId block) {
  here_ = new_suite();
  refuse(why, block);
}

SuiteId Planner::suite(BlockId block, const Scope& scope) {
  const SuiteId outer = here_;
  const SuiteId made = here_ = new_suite();
  const bool falls = follow(block, scope);
  plan_[made].falls = falls;
  here_ = outer;
  return made;
}

// Refuses code that would run with another number of handled exceptions than in the bytecode: it
// sees the exception that is being handled, and so do the exceptions that it raises.
void Planner::check_handled(BlockId block, const Scope& scope) const {
  const ir::Block& b = graph_[block];
  uint32_t handled = graph_.exceptions_at(block, 0);
  if (handled == 0 && scope.handled == 0) return;  // none is left here either
  const auto require = [&] {
    if (handled != scope.handled) {
      refuse("code that runs while other exceptions are handled", block);
    }
  };
  for (const ValueId item : b.items) {
    const ir::Value& value = graph_[item];
    if (value.kind == ValueKind::Instr) {
      if (is_leaving(value)) {
        if (!is_marker(value) && handled > 0) --handled;
        continue;
      }
      if (value.op == Op::LoadConst || drops(value, ir::Dropped::Iterator) ||
          drops(value, ir::Dropped::Constant)) {
        continue;
      }
    }
    require();
  }
  if (b.exit != ExitKind::Goto && b.exit != ExitKind::Return && b.exit != ExitKind::Reraise) {
    require();
  }
}

// Ends the suite if it has no more code. Returns true if control falls off its end, false if it
// leaves by a `break` or `continue`; nothing if there is more.
std::optional<bool> Planner::end_of_suite(BlockId block, const Scope& scope, bool jumps) {
  const bool is_named = is_jump_target(block, scope);
  if (block == scope.follow && !(jumps && (is_named || only_returns(graph_, block)))) {
    add(ActionKind::FallOff, {});
    return true;
  }
  if (!is_named) return {};
  add(block == scope.loop->header ? ActionKind::Continue : ActionKind::Break, from_);
  return false;
}

// Appends the code from `block` on. Returns true if control falls through to scope.follow.
bool Planner::follow(BlockId block, const Scope& scope) {
  struct Depth {
    size_t& depth;
    ~Depth() { --depth; }
  } guard{++depth_};
  if (depth_ > kDeepest) refuse("nesting beyond the limit", block);
  bool jumps = false;  // a jump statement has left a region on the way here
  from_ = {};
  while (block.valid()) {
    if (const auto falls = end_of_suite(block, scope, jumps)) return *falls;
    if (budget_-- == 0) refuse("control flow that needs too much repetition", block);
    const ir::Block& b = graph_[block];
    check_handled(block, scope);
    if (is_open(block, scope)) refuse("a jump to an outer loop", block);
    if (b.handler != scope.handler) {
      if (within(graph_, b.handler, scope.handler)) {
        if (const HandlerId enter = entered(c_, block, scope); enter.valid()) {
          block = region(enter, block, scope);
          from_ = {};
          continue;
        }
      } else if (!cannot_raise(graph_, block) && !is_overtaken_outside(c_, block, scope)) {
        refuse("code that leaves a try statement in the middle", block);
      }
    }
    if (b.exit == ExitKind::ForIter || loop_at(c_, block) != nullptr) {
      block = b.exit == ExitKind::ForIter ? for_loop(block, scope) : while_loop(block, scope);
      from_ = {};
      continue;
    }
    add(ActionKind::Run, block);
    if (!only_markers(graph_, b)) jumps = false;
    jumps = jumps || left_by_jump(graph_, block);
    bool falls = false;
    switch (b.exit) {
      case ExitKind::Goto:
        from_ = block;
        block = b.next[0].to;
        continue;
      case ExitKind::Branch:
        block = branch(block, scope, falls);
        if (block.valid()) from_ = {};
        break;
      case ExitKind::Reraise:
        return reraise(block, scope);
      case ExitKind::Return:
      case ExitKind::Raise:
        // The end of the body is implicit, all the more if control never reaches it.
        if (!scope.follow.valid() && !scope.loop && is_dead_end(c_, block)) return true;
        add(ActionKind::Leave, block);
        jumps = false;  // it is written
        block = b.next[0].to;
        break;
      case ExitKind::BranchNone:
      case ExitKind::ForIter:
      case ExitKind::Send:
        refuse("a jump of unknown form", block);
    }
    if (!block.valid()) return falls;
  }
  return false;
}

// Ends a `finally` body: no more of it may follow, unless the end was merged into its last block.
// Returns true if the body reaches its end by itself.
bool Planner::reraise(BlockId block, const Scope& scope) {
  add(ActionKind::Reraise, block);
  if (!graph_[block].operands.empty() && scope.follow.valid() && graph_.reachable(scope.follow) &&
      skip_markers(c_, scope.follow, scope) != block) {
    refuse("a finally body that ends in the middle", block);
  }
  const std::optional<LostPlan> jump = lost_statement(c_, block, scope);
  if (!jump) return true;
  plan_.lost.push_back(*jump);
  add(ActionKind::Lost, block, plan_.lost.size() - 1);
  return false;
}

namespace {

// Returns true if one block is all there is, and leaves: in two thirds of all code objects.
bool is_straight_line(const Graph& graph) {
  const BlockId id = graph.entry();
  const ir::Block& block = graph[id];
  return graph.order().size() == 1 && graph.ways_into(id).empty() && !block.handler.valid() &&
         !block.next[0].to.valid() && graph.exceptions_at(id, 0) == 0 &&
         (block.exit == ExitKind::Return || block.exit == ExitKind::Raise);
}

// Returns what Planner plans for a straight line.
Plan plan_of_straight_line(const Graph& graph) {
  const BlockId block = graph.entry();
  Plan plan;
  plan.body = SuiteId(0u);
  plan.suites.emplace_back().actions = {{ActionKind::Run, block}, {ActionKind::Leave, block}};
  return plan;
}

}  // namespace

Plan make_plan(const Graph& graph, const object::Module& module, const Analysis& analysis,
               const IsOneExpression& is_one_expression) {
  if (is_straight_line(graph)) return plan_of_straight_line(graph);
  const PlanContext context(graph, module, analysis);
  return Planner(context, is_one_expression).run();
}

}  // namespace pellucid::structure
