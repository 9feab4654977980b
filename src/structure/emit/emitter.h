// SPDX-License-Identifier: Apache-2.0
// The emitter: a reduced graph and the plan of its statements -> the statements.
//
// It makes no decision about control flow: the plan has the order of the suites. It adds the
// expressions, and the temporaries that these need.
#pragma once

#include "structure/plan/plan.h"
#include "structure/statements/statements.h"

namespace pellucid::structure {

// Notes properties of values: the iterators that only a loop uses, the containers that a
// comprehension fills, and the values that are only dropped.
void note_values(FunctionContext& context);

// Returns true if the items of a block and the value that its branch tests are one expression; for
// plan/. Writes nothing and takes no name.
class ExpressionTrial {
 public:
  explicit ExpressionTrial(const FunctionContext& context) : context_(context) {
    context_.is_trial = true;
  }
  bool operator()(BlockId block);

 private:
  FunctionContext context_;
};

ast::ListId emit(FunctionContext& context, const Plan& plan);

}  // namespace pellucid::structure
