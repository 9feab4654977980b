// SPDX-License-Identifier: Apache-2.0
// Loops, and the exits of statements.
#include "base/check.h"
#include "verify/lower/compiler.h"

namespace pellucid::verify::lower {

void Compiler::while_loop(const ast::While& node) {
  const Label start = emit().label();
  const Label otherwise = emit().label();
  const Label end = emit().label();
  const auto truth = truth_of(node.test);
  emit().place(start);
  if (!truth) jump_if(node.test, false, otherwise);
  if (truth == false) emit().jump(otherwise);
  const Label body = emit().label();
  emit().place(body);
  unit().enclosing.push_back({Enclosing::kWhile, start, end, {}, {}, false});
  statements(node.body);
  unit().enclosing.pop_back();
  // Loop inversion: since 3.10 the test is repeated at the end.
  if (features_.repeats_loop_test && !truth && emit().live()) {
    jump_if(node.test, true, body);
    emit().jump(otherwise);
  } else {
    emit().jump(start);
  }
  emit().place(otherwise);
  statements(node.orelse);
  emit().place(end);
}

void Compiler::for_loop(const ast::For& node) {
  const Label start = emit().label();
  const Label exhausted = emit().label();
  const Label end = emit().label();
  iterated(node.iter);
  get_iterator();
  emit().place(start);
  emit().for_iter(exhausted, iterator_slots());
  unit().enclosing.push_back({Enclosing::kFor, start, end, {}, {}, false});
  assign(node.target);
  statements(node.body);
  unit().enclosing.pop_back();
  emit().jump(start);
  emit().place(exhausted);
  statements(node.orelse);
  emit().place(end);
}

void Compiler::async_for_loop(const ast::For& node) {
  const Label start = emit().label();
  const Label failed = emit().label();
  const Label end = emit().label();
  expression(node.iter);
  emit().op(Op::GetAiter);
  emit().place(start);
  unit().enclosing.push_back({Enclosing::kAsyncFor, start, end, {}, {}, false});
  emit().protect(failed, false);
  emit().op(Op::GetAnext);
  load_none();
  emit().op(Op::YieldFrom);
  emit().unprotect();
  assign(node.target);
  statements(node.body);
  unit().enclosing.pop_back();
  emit().jump(start);
  emit().place_handler(failed);
  emit().op(Op::EndAsyncFor, features_.exceptions_are_one_value ? 2 : 7);
  statements(node.orelse);
  emit().place(end);
}

// Replaces the iterable on the stack by its iterator, with the slot that 3.15 has above it.
void Compiler::get_iterator() {
  emit().op(Op::GetIter);
  if (iterator_slots() == 2) emit().op(Op::PushNull);
}

void Compiler::drop_iterator() {
  for (uint32_t slot = 0; slot < iterator_slots(); ++slot) emit().op(Op::Pop);
}

void Compiler::leave_loop(bool is_continue) {
  std::vector<Enclosing>& around = unit().enclosing;
  size_t loop = around.size();
  while (loop > 0) {
    const Enclosing::Kind kind = around[loop - 1].kind;
    if (kind == Enclosing::kWhile || kind == Enclosing::kFor || kind == Enclosing::kAsyncFor) break;
    --loop;
  }
  if (loop == 0) give_up("jump outside of a loop");
  const Emitter::Place before = emit().here();
  unwind_to(loop, false);
  const Enclosing target = around[loop - 1];
  if (!is_continue && target.kind == Enclosing::kFor) drop_iterator();
  if (!is_continue && target.kind == Enclosing::kAsyncFor) emit().op(Op::Pop);
  emit().jump(is_continue ? target.start : target.end);
  emit().back_to(before);
}

// Unwinds the enclosing statements down to `depth`, innermost first. Code compiled meanwhile is
// enclosed by the remaining statements.
void Compiler::unwind_to(size_t depth, bool keeps_value) {
  const std::vector<Enclosing> all = unit().enclosing;
  while (unit().enclosing.size() > depth) {
    const Enclosing one = unit().enclosing.back();
    unit().enclosing.pop_back();
    unwind(one, keeps_value);
  }
  unit().enclosing = all;
}

void Compiler::unwind(const Enclosing& from, bool keeps_value) {
  // Brings the slots below the kept value to the top.
  const auto reach = [&](uint32_t slots) {
    if (keeps_value) emit().op(Op::Rot, slots + 1);
  };
  switch (from.kind) {
    case Enclosing::kWhile:
      return;
    case Enclosing::kFor:
      if (keeps_value) emit().op(Op::Swap, iterator_slots() + 1);
      return drop_iterator();
    case Enclosing::kAsyncFor:
      if (keeps_value) emit().op(Op::Swap, 2);
      return emit().op(Op::Pop);
    case Enclosing::kTryExcept:
      return emit().unprotect();
    case Enclosing::kTryFinally: {
      emit().unprotect();
      if (keeps_value) unit().enclosing.push_back({Enclosing::kValue, {}, {}, {}, {}, false});
      statements(from.finalbody);
      if (keeps_value) unit().enclosing.pop_back();
      return;
    }
    case Enclosing::kFinallyEnd: {
      if (features_.exceptions_are_one_value) {
        if (keeps_value) emit().op(Op::Swap, 2);
        emit().op(Op::Pop);
        if (keeps_value) emit().op(Op::Swap, 2);
        return emit().op(Op::PopExcept, 1);
      }
      for (int i = 0; i < 3; ++i) {
        if (keeps_value) emit().op(Op::Swap, 2);
        emit().op(Op::Pop);
      }
      reach(3);
      return emit().op(Op::PopExcept, 3);
    }
    case Enclosing::kWith:
    case Enclosing::kAsyncWith:
      emit().unprotect();
      reach(features_.exit_slots());
      return call_exit(from.kind == Enclosing::kAsyncWith);
    case Enclosing::kHandler: {
      if (from.named) emit().unprotect();
      // 3.8 unbinds the name first, later versions end the handling first.
      if (features_.exceptions_are_one_value) {
        if (keeps_value) emit().op(Op::Swap, 2);
        emit().op(Op::PopExcept, 1);
      } else {
        reach(3);
        emit().op(Op::PopExcept, 3);
      }
      if (from.named) unbind(from.name);
      return;
    }
    case Enclosing::kStarHandler:
      give_up("a jump out of except* not supported");
    case Enclosing::kValue:
      if (keeps_value) emit().op(Op::Swap, 2);
      return emit().op(Op::Pop);
  }
}

}  // namespace pellucid::verify::lower
