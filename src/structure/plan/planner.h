// SPDX-License-Identifier: Apache-2.0
// make_plan: a reduced graph -> the plan of its statements.
#pragma once

#include "structure/graph/loops.h"
#include "structure/plan/loop_exits.h"
#include "structure/plan/plan.h"

namespace pellucid::structure {

// Before: the graph has gone through all steps (steps.cpp), and `analysis` is of it.
// After: the plan has each statement of it, up to a Refuse action where no statements are known. A
// plan is about as long as the graph: code that would have to be repeated too often is refused.
Plan make_plan(const Graph& graph, const object::Module& module, const Analysis& analysis,
               const IsOneExpression& is_one_expression);

}  // namespace pellucid::structure
