// SPDX-License-Identifier: Apache-2.0
#include "driver/lifting.h"

#include "driver/faults.h"
#include "flow/build.h"
#include "ir/generated.h"
#include "ir/lift.h"
#include "ir/simplify.h"
#include "ir/write_backs.h"

namespace pellucid::driver {
namespace {

using Lift = Result<ir::Function> (*)(const flow::Graph&);

Result<ir::Function> lifted(flow::Graphs& graphs, object::Module& module, object::CodeId code,
                            bool keep_ends, Faults& faults, Lift lift) {
  const Result<bytecode::Stream>& stream = graphs.stream(code);
  if (stream.ok() && stream->faults.empty()) {
    const Result<flow::Graph>& graph =
        keep_ends ? graphs.graph_with_ends(code) : graphs.graph(code);
    if (graph.ok()) {
      Result<ir::Function> function = lift(*graph);
      if (function.ok()) {
        faults.clear();
        return function;
      }
    }
  }
  // With faults: the graph is another one without each of these places.
  return with_places(
      module, stream, faults, [&](const bytecode::Stream& sayable) -> Result<ir::Function> {
        const bytecode::Stream spelled = spelled_out(module, sayable);
        PELLUCID_TRY(const flow::Graph graph, flow::build(module, spelled, keep_ends));
        return lift(graph);
      });
}

}  // namespace

Result<ir::Function> to_ir(flow::Graphs& graphs, object::Module& module, object::CodeId code,
                           bool keep_ends, Faults& faults, const object::Facts& facts) {
  PELLUCID_TRY(ir::Function function, lifted(graphs, module, code, keep_ends, faults, ir::lift));
  // Replaces a generator's names, and the lists that it keeps values in, by these values.
  if (!facts.empty()) ir::settle_generated(module, facts, function);
  ir::simplify(module, function, !facts.empty());
  if (!facts.empty()) ir::drop_stores_in_locals(module, function);
  if (!facts.empty()) ir::mark_displays(function);
#ifdef PELLUCID_CHECKS
  ir::check(module, function);
#endif
  return function;
}

Result<ir::Function> to_ir_of_slots(flow::Graphs& graphs, object::Module& module,
                                    object::CodeId code, Faults& faults) {
  return lifted(graphs, module, code, false, faults, ir::lift_slots);
}

}  // namespace pellucid::driver
