// SPDX-License-Identifier: Apache-2.0
// driver: a code object -> its function of values. From there on no version is visible.
#pragma once

#include <vector>

#include "base/result.h"
#include "bytecode/stream.h"
#include "flow/graphs.h"
#include "ir/function.h"
#include "object/code.h"
#include "object/facts.h"

namespace pellucid::driver {

using Faults = std::vector<bytecode::Fault>;

// About code that no program generated.
inline const object::Facts kNoFacts;

// The function of a code object, made before it is asked for.
struct Lifted {
  Result<ir::Function> function;
  Faults faults;
};

// Returns the function of a code object of `graphs`. `keep_ends`: with what compilers leave behind
// of code that never runs. `module` is that of `graphs` or a copy, and gains constants; `faults`
// gets the places that no instruction can say (faults.h).
Result<ir::Function> to_ir(flow::Graphs& graphs, object::Module& module, object::CodeId code,
                           bool keep_ends, Faults& faults, const object::Facts& facts = kNoFacts);

// The same with a parameter for every stack slot: for a loop over a state.
Result<ir::Function> to_ir_of_slots(flow::Graphs& graphs, object::Module& module,
                                    object::CodeId code, Faults& faults);

}  // namespace pellucid::driver
