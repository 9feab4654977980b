// SPDX-License-Identifier: Apache-2.0
// The plan of a graph, as text: what tests/unit/structure/plan/<construct>/<case>.txt holds below
// the graph.
#pragma once

#include <string>
#include <vector>

#include "structure/emit/emitter.h"
#include "structure/plan/planner.h"
#include "structure/steps.h"

namespace pellucid::structure {

inline Plan plan_of(Reduction& reduction) {
  const std::vector<ast::ListId> bodies(reduction.tree.module().codes.size());
  const Analysis analysis = analyse(reduction.graph);
  Expressions expressions(reduction.graph.f, reduction.tree, bodies);
  FunctionContext context{reduction.graph, reduction.tree, expressions};
  note_values(context);
  ExpressionTrial trial(context);
  return make_plan(reduction.graph, reduction.tree.module(), analysis,
                   [&](BlockId block) { return trial(block); });
}

inline std::string plan_text(Reduction& reduction) {
  const Plan plan = plan_of(reduction);
  check(reduction.graph, plan);
  return dump(reduction.graph, plan);
}

}  // namespace pellucid::structure
