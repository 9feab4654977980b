// SPDX-License-Identifier: Apache-2.0
#include "verify/lower/loops.h"

#include "verify/lower/assignments.h"
#include "verify/lower/conditions.h"
#include "verify/lower/displays.h"
#include "verify/lower/expressions.h"
#include "verify/lower/folding.h"
#include "verify/lower/statements.h"

namespace pellucid::verify::lower {

namespace {

void async_for_loop(Unit& unit, const ast::For& node) {
  const Label start = unit.emit.label();
  const Label exhausted = unit.emit.label();
  const Label end = unit.emit.label();
  expression(unit, node.iter);
  unit.emit.op(Op::GetAiter);
  unit.emit.place(start);
  unit.enclosing.push_back({.kind = Enclosing::kAsyncFor, .start = start, .end = end});
  next_of_async(unit, exhausted);
  assign(unit, node.target);
  statements(unit, node.body);
  unit.enclosing.pop_back();
  unit.emit.jump(start);
  place_exhausted(unit, exhausted);
  statements(unit, node.orelse);
  unit.emit.place(end);
}

}  // namespace

void while_loop(Unit& unit, const ast::While& node) {
  const Label start = unit.emit.label();
  const Label otherwise = unit.emit.label();
  const Label end = unit.emit.label();
  const auto truth = truth_of(unit, node.test);
  unit.emit.place(start);
  if (!truth) jump_if(unit, node.test, false, otherwise);
  if (truth == false) unit.emit.jump(otherwise);
  const Label body = unit.emit.label();
  unit.emit.place(body);
  unit.enclosing.push_back({.kind = Enclosing::kWhile, .start = start, .end = end});
  statements(unit, node.body);
  unit.enclosing.pop_back();
  // Loop inversion: from 3.10 to 3.13 the test is repeated at the end.
  if (unit.features.repeats_loop_test && !truth && unit.emit.live()) {
    jump_if(unit, node.test, true, body);
    unit.emit.jump(otherwise);
  } else {
    unit.emit.jump(start);
  }
  unit.emit.place(otherwise);
  statements(unit, node.orelse);
  unit.emit.place(end);
}

void for_loop(Unit& unit, const ast::For& node) {
  if (node.is_async) return async_for_loop(unit, node);
  const Label start = unit.emit.label();
  const Label exhausted = unit.emit.label();
  const Label end = unit.emit.label();
  iterated(unit, node.iter);
  get_iterator(unit);
  unit.emit.place(start);
  unit.emit.for_iter(exhausted, unit.features.iterator_slots());
  unit.enclosing.push_back({.kind = Enclosing::kFor, .start = start, .end = end});
  assign(unit, node.target);
  statements(unit, node.body);
  unit.enclosing.pop_back();
  unit.emit.jump(start);
  unit.emit.place(exhausted);
  statements(unit, node.orelse);
  unit.emit.place(end);
}

void get_iterator(Unit& unit) {
  unit.emit.op(Op::GetIter);
  if (unit.features.iterator_slots() == 2) unit.emit.op(Op::PushNull);
}

void drop_iterator(Unit& unit) {
  for (uint32_t slot = 0; slot < unit.features.iterator_slots(); ++slot) unit.emit.op(Op::Pop);
}

void next_of_async(Unit& unit, Label exhausted) {
  unit.emit.protect(exhausted, false);
  unit.emit.op(Op::GetAnext);
  load_none(unit);
  unit.emit.op(Op::YieldFrom);
  unit.emit.unprotect();
}

void place_exhausted(Unit& unit, Label exhausted) {
  unit.emit.place_handler(exhausted);
  unit.emit.op(Op::EndAsyncFor, unit.features.exceptions_are_one_value ? 2 : 7);
}

}  // namespace pellucid::verify::lower
