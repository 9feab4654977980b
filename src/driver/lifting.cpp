#include "driver/lifting.h"

#include "driver/faults.h"
#include "flow/build.h"
#include "ir/generated.h"
#include "ir/lift.h"
#include "ir/simplify.h"
#include "ir/write_backs.h"

namespace pellucid::driver {

Result<ir::Function> to_ir(object::Module& module, object::CodeId code, bool keep_ends,
                           Faults& faults, const object::Facts& facts) {
  const auto lifted = [&](const bytecode::Stream& stream) -> Result<ir::Function> {
    const bytecode::Stream spelled = spelled_out(module, stream);
    PELLUCID_TRY(const flow::Graph graph, flow::build(module, spelled, keep_ends));
    // From here on no version is visible.
    return ir::lift(graph);
  };
  PELLUCID_TRY(ir::Function function, with_places(module, code, faults, lifted));
  // What a generator's own names, and lists that it keeps its values in, stand for.
  if (!facts.empty()) ir::settle_generated(module, facts, function);
  ir::simplify(module, function, !facts.empty());
  if (!facts.empty()) ir::drop_stores_in_locals(module, function);
  if (!facts.empty()) ir::mark_displays(function);
#ifdef PELLUCID_CHECKS
  ir::check(module, function);
#endif
  return function;
}

Result<ir::Function> to_ir_of_slots(object::Module& module, object::CodeId code, Faults& faults) {
  const auto lifted = [&](const bytecode::Stream& stream) -> Result<ir::Function> {
    const bytecode::Stream spelled = spelled_out(module, stream);
    PELLUCID_TRY(const flow::Graph graph, flow::build(module, spelled, false));
    return ir::lift_slots(graph);
  };
  return with_places(module, code, faults, lifted);
}

}  // namespace pellucid::driver
