// SPDX-License-Identifier: Apache-2.0
// The emitter: a reduced graph and the plan of its statements -> the statements.
//
// It decides nothing about control flow: which suite comes where is in the plan. What it adds are
// the expressions, and the temporaries that these need.
#pragma once

#include "structure/plan/plan.h"
#include "structure/statements/statements.h"

namespace pellucid::structure {

// Says what becomes of values as a whole: which iterators a loop makes for itself, which containers
// a comprehension fills, and what is only dropped.
void note_values(FunctionContext& context);

// Returns whether the items of a block and what its branch tests are one expression; plan/ asks.
// Nothing is written, and no name is taken.
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
