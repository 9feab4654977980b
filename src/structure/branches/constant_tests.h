// SPDX-License-Identifier: Apache-2.0
// The rule of conditions.cpp for a test that leads to one place whatever it finds.
#pragma once

#include "structure/branches/choices.h"

namespace pellucid::structure {

class EitherWay : protected Choices {
 protected:
  using Choices::Choices;

  // A test that leads to one place whatever it finds, and what is computed there on its line:
  // compilers saw through the other operand of `t or True`. As an operand of a test it stays one;
  // else what comes next is what such a test always chooses.
  bool either_way(BlockId a);

 private:
  bool decides(BlockId id) const;
  bool goes_into_more(BlockId id, size_t length) const;
  size_t first_computed(BlockId id) const;
};

}  // namespace pellucid::structure
