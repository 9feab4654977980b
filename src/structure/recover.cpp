// SPDX-License-Identifier: Apache-2.0
#include "structure/recover.h"

#include <memory>
#include <utility>

#include "structure/emit/emitter.h"
#include "structure/graph/not_structured.h"
#include "structure/plan/planner.h"
#include "structure/steps.h"

namespace pellucid::structure {
namespace {

// No statement gives up control but `await`, `yield` and `yield from`.
void refuse_sends(const Graph& graph) {
  for (const BlockId id : graph.order()) {
    if (graph[id].exit != ExitKind::Send) continue;
    throw NotStructured("a SEND that is no part of `await` or `yield from`", graph[id].exit_offset);
  }
}

// What the emitter relies on, whatever graph somebody has thought of.
void require_arguments(const Graph& graph) {
  for (const BlockId id : graph.order()) {
    for (const ir::Edge& edge : graph[id].next) {
      if (!edge.to.valid() || edge.args.size() == graph[edge.to].params.size()) continue;
      throw NotStructured("a way that brings other values than are taken", graph[id].exit_offset);
    }
  }
}

// The steps and the emitter climb from handler to handler outwards. No compiler protects a
// handler's code by that handler.
void refuse_rings_of_handlers(const Graph& graph) {
  for (size_t i = 0; i < graph.handlers.size(); ++i) {
    if (graph.handlers[i].depth < graph.handlers.size()) continue;
    throw NotStructured("handlers that protect each other",
                        graph[graph.f.handlers[i].entry].offset);
  }
}

// Tells what a step has changed, and shows the graph where that is wanted.
void tell(const Reduction& reduction, const Step& step, std::string& before, Trace& trace) {
  std::string after = dump(reduction.tree.module(), reduction.graph);
  if (!trace.wanted.empty()) {
    if (trace.wanted == step.name) trace.text += after;
  } else if (after != before) {
    trace.text += std::string("  ") + step.name + ": " + step.because + '\n';
  }
  before = std::move(after);
}

// The plan of the reduced graph, and its statements.
ast::ListId written(Reduction& reduction, const std::vector<ast::ListId>& bodies, Trace* trace) {
  Graph& graph = reduction.graph;
  const Analysis& analysis = reduction.analysis.of(graph);
  Expressions expressions(graph.f, reduction.tree, bodies);
  FunctionContext context{graph, reduction.tree, expressions};
  context.analysis = &analysis;
  // Where copies stay apart, so does what is evaluated before a function.
  context.keeps_functions_in_place = !reduction.joins_copies;
  note_values(context);
  std::unique_ptr<ExpressionTrial> trial;  // few graphs have a test to try
  const auto is_one_expression = [&](BlockId block) {
    if (!trial) trial = std::make_unique<ExpressionTrial>(context);
    return (*trial)(block);
  };
  const Plan plan = make_plan(graph, reduction.tree.module(), analysis, is_one_expression);
#ifdef PELLUCID_CHECKS
  check(graph, plan);
#endif
  if (trace != nullptr && trace->wanted == kPlanStage) trace->text += dump(graph, plan);
  return emit(context, plan);
}

}  // namespace

Result<ast::ListId> recover(ir::Function function, ast::Tree& tree,
                            const std::vector<ast::ListId>& bodies, const object::Places& places,
                            bool joins_copies, Trace* trace) {
  try {
    Reduction reduction{Graph(std::move(function)), tree, joins_copies};
    // Where copies stay apart, each stays where it lies.
    if (joins_copies) reduction.graph.places = &places;
    refuse_sends(reduction.graph);
    refuse_rings_of_handlers(reduction.graph);
    tree.make_room(reduction.graph.f.values.size());
    std::string before;
    if (trace != nullptr) before = dump(tree.module(), reduction.graph);
    const uint32_t traits = traits_of(reduction.graph);
    for (const Step& step : steps()) {
      if ((step.needs & traits) != 0) step.run(reduction);
#ifdef PELLUCID_CHECKS
      require_arguments(reduction.graph);
      check(reduction.graph);
#endif
      if (trace != nullptr) tell(reduction, step, before, *trace);
    }
    require_arguments(reduction.graph);
    return written(reduction, bodies, trace);
  } catch (const NotStructured& reason) {
    return Error{ErrorCode::Unsupported, reason.offset, reason.what()};
  }
}

}  // namespace pellucid::structure
