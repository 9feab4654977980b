// SPDX-License-Identifier: Apache-2.0
#include "verify/lower/unwinding.h"

#include <vector>

#include "verify/lower/assignments.h"
#include "verify/lower/loops.h"
#include "verify/lower/names.h"
#include "verify/lower/statements.h"
#include "verify/lower/with.h"

namespace pellucid::verify::lower {

namespace {

// Ends one statement that the unit has left.
void unwind(Unit& unit, const Enclosing& from, bool keeps_value) {
  // Brings the slots below the kept value to the top.
  const auto reach = [&](uint32_t slots) {
    if (keeps_value) move_down(unit, slots + 1);
  };
  switch (from.kind) {
    case Enclosing::kWhile:
      return;
    case Enclosing::kFor:
      if (keeps_value) unit.emit.op(Op::Swap, unit.features.iterator_slots() + 1);
      return drop_iterator(unit);
    case Enclosing::kAsyncFor:
      if (keeps_value) unit.emit.op(Op::Swap, 2);
      return unit.emit.op(Op::Pop);
    case Enclosing::kTryExcept:
      return unit.emit.unprotect();
    case Enclosing::kTryFinally: {
      unit.emit.unprotect();
      if (keeps_value) unit.enclosing.push_back({.kind = Enclosing::kValue});
      statements(unit, from.finalbody);
      if (keeps_value) unit.enclosing.pop_back();
      return;
    }
    case Enclosing::kFinallyEnd: {
      if (unit.features.exceptions_are_one_value) {
        if (keeps_value) unit.emit.op(Op::Swap, 2);
        unit.emit.op(Op::Pop);
        if (keeps_value) unit.emit.op(Op::Swap, 2);
        return unit.emit.op(Op::PopExcept, 1);
      }
      for (int i = 0; i < 3; ++i) {
        if (keeps_value) unit.emit.op(Op::Swap, 2);
        unit.emit.op(Op::Pop);
      }
      reach(3);
      return unit.emit.op(Op::PopExcept, 3);
    }
    case Enclosing::kWith:
    case Enclosing::kAsyncWith:
      unit.emit.unprotect();
      reach(unit.features.exit_slots());
      return call_exit(unit, from.kind == Enclosing::kAsyncWith);
    case Enclosing::kHandler: {
      if (from.named) unit.emit.unprotect();
      // 3.8 unbinds the name first, later versions end the handling first.
      if (unit.features.exceptions_are_one_value) {
        if (keeps_value) unit.emit.op(Op::Swap, 2);
        unit.emit.op(Op::PopExcept, 1);
      } else {
        reach(3);
        unit.emit.op(Op::PopExcept, 3);
      }
      if (from.named) unbind(unit, from.name);
      return;
    }
    case Enclosing::kStarHandler:
      give_up("a jump out of except* not supported");
    case Enclosing::kValue:
      if (keeps_value) unit.emit.op(Op::Swap, 2);
      return unit.emit.op(Op::Pop);
  }
}

}  // namespace

void leave_loop(Unit& unit, bool is_continue) {
  std::vector<Enclosing>& around = unit.enclosing;
  size_t loop = around.size();
  while (loop > 0) {
    const Enclosing::Kind kind = around[loop - 1].kind;
    if (kind == Enclosing::kWhile || kind == Enclosing::kFor || kind == Enclosing::kAsyncFor) break;
    --loop;
  }
  if (loop == 0) give_up("jump outside of a loop");
  const Position before = unit.emit.here();
  unwind_to(unit, loop, false);
  const Enclosing target = around[loop - 1];
  if (!is_continue && target.kind == Enclosing::kFor) drop_iterator(unit);
  if (!is_continue && target.kind == Enclosing::kAsyncFor) unit.emit.op(Op::Pop);
  unit.emit.jump(is_continue ? target.start : target.end);
  unit.emit.back_to(before);
}

void unwind_to(Unit& unit, size_t depth, bool keeps_value) {
  const std::vector<Enclosing> all = unit.enclosing;
  while (unit.enclosing.size() > depth) {
    const Enclosing one = unit.enclosing.back();
    unit.enclosing.pop_back();
    unwind(unit, one, keeps_value);
  }
  unit.enclosing = all;
}

}  // namespace pellucid::verify::lower
