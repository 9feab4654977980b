// SPDX-License-Identifier: Apache-2.0
#include "verify/lower/with.h"

#include <cstddef>

#include "verify/lower/assignments.h"
#include "verify/lower/calls.h"
#include "verify/lower/expressions.h"
#include "verify/lower/statements.h"
#include "verify/lower/try.h"

namespace pellucid::verify::lower {

namespace {

// Lowers the handler of a `with`, which continues at `end` if __exit__ suppresses the exception.
void with_end(Unit& unit, bool is_async, Label end) {
  const Label suppressed = unit.emit.label();
  push_exception(unit);
  unit.emit.op(Op::WithExceptStart, unit.features.exit_depth(), unit.features.exit_slots());
  if (is_async) await(unit, 2);
  unit.emit.branch(true, suppressed);
  unit.emit.reraise(true, 1);
  unit.emit.place(suppressed);
  for (uint32_t i = unit.features.exception_slots(); i > 0; --i) unit.emit.op(Op::Pop);
  unit.emit.op(Op::PopExcept, unit.features.exception_slots());
  if (unit.features.exceptions_are_one_value) unit.emit.op(Op::Pop);
  unit.emit.op(Op::Pop);
  if (unit.features.exits_have_self) unit.emit.op(Op::Pop);
  unit.emit.jump(end);
}

// Compiles the items from `index` on, and the body in them.
void with_items(Unit& unit, const ast::With& with, size_t index) {
  const auto items = unit.tree.items(with.items);
  if (index == items.size()) return statements(unit, with.body);
  const auto item = unit.tree.as<ast::withitem>(items[index]);
  const Label failed = unit.emit.label();
  const Label end = unit.emit.label();
  expression(unit, item.context_expr);
  const uint32_t exit_slots = unit.features.exit_slots();
  unit.emit.op(with.is_async ? Op::BeforeAsyncWith : Op::BeforeWith, 0, exit_slots);
  if (with.is_async) await(unit, 1);
  unit.emit.protect(failed, true, 1);
  unit.enclosing.push_back({.kind = with.is_async ? Enclosing::kAsyncWith : Enclosing::kWith});
  if (item.optional_vars.valid()) {
    assign(unit, item.optional_vars);
  } else {
    unit.emit.op(Op::Pop);
  }
  with_items(unit, with, index + 1);
  unit.enclosing.pop_back();
  unit.emit.unprotect();
  call_exit(unit, with.is_async);
  unit.emit.jump(end);
  unit.emit.place_handler(failed);
  with_end(unit, with.is_async, end);
  unit.emit.place(end);
}

}  // namespace

void with_statement(Unit& unit, const ast::With& node) { with_items(unit, node, 0); }

void call_exit(Unit& unit, bool is_async) {
  for (int i = 0; i < 3; ++i) load_none(unit);
  if (unit.features.exits_have_self) {
    unit.emit.op(Op::Call, 3, 2);
  } else {
    call(unit, 3);
  }
  if (is_async) await(unit, 2);
  unit.emit.op(Op::Pop);
}

}  // namespace pellucid::verify::lower
