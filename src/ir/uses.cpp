// SPDX-License-Identifier: Apache-2.0
#include "ir/function.h"

namespace pellucid::ir {

void count_uses(Function& f) {
  for (Value& value : f.values) value.uses = 0;
  for (const Block& block : f.blocks) {
    for (const ValueId item : block.items) {
      for (const ValueId operand : f.operands(item)) ++f[operand].uses;
    }
    for (const ValueId operand : block.operands) {
      // The item among a loop's operands is its own result.
      if (block.exit == ExitKind::ForIter && operand != block.operands[0]) continue;
      ++f[operand].uses;
    }
    for (const Edge& edge : block.next) {
      for (const ValueId arg : edge.args) ++f[arg].uses;
    }
  }
}

}  // namespace pellucid::ir
