// SPDX-License-Identifier: Apache-2.0
// The rule of conditions.cpp for a test with equal targets.
#pragma once

#include "structure/branches/choices.h"

namespace pellucid::structure {

class EitherWay : protected Choices {
 protected:
  using Choices::Choices;

  // Reduces a test with equal targets and the value computed there on its line: compilers optimised
  // the other operand of `t or True` away. If that value is tested, the whole is a test (`and`);
  // else the value is the arm that such a test always chooses.
  bool either_way(BlockId a);

 private:
  bool decides(BlockId id) const;
  bool goes_into_more(BlockId id, size_t length) const;
  size_t first_computed(BlockId id) const;
};

}  // namespace pellucid::structure
