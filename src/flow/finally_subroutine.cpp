// SPDX-License-Identifier: Apache-2.0
// The finally bodies and with statements of 3.8, as 3.9 compiles them.
//
// The top of the stack marks the way into a finally body: NULL (BEGIN_FINALLY: fall-through), a
// return address (CALL_FINALLY), or the six slots of an exception. END_FINALLY continues, returns
// or re-raises accordingly. WITH_CLEANUP_START, which knows no return address, calls __exit__
// accordingly, duplicates the exception or None, and pushes the result; WITH_CLEANUP_FINISH takes
// both and turns a handled exception into NULL.
#include "flow/block_stack.h"

namespace pellucid::flow {

namespace {

// Returns true if a loop around `at` starts after `header`: a jump from there to the latter leaves
// that loop.
bool is_in_loop_within(const bytecode::Stream& stream, uint32_t at, uint32_t header) {
  for (uint32_t i = at; i < stream.instrs.size(); ++i) {
    const Instr& instr = stream.instrs[i];
    if (instr.op == Op::Jump && instr.a > header && instr.a < at) return true;
  }
  return false;
}

// Sets the marker to the jump statement that leaves regions and loops from here on. Returns false
// if there is none.
bool mark_lost_jump(const bytecode::Stream& stream, uint32_t at, Instr& marker) {
  const auto say = [&](Marker what, uint32_t constant = 0) {
    marker.a = static_cast<uint32_t>(what);
    marker.b = constant;
    return true;
  };
  for (uint32_t i = at; i < stream.instrs.size(); ++i) {
    const Instr& instr = stream.instrs[i];
    if (instr.op == Op::Jump) {
      const bool leaves = instr.a > i || is_in_loop_within(stream, at, instr.a);
      return say(leaves ? Marker::LostBreak : Marker::LostContinue);
    }
    if (instr.op == Op::ReturnValue) {
      const Instr& value = stream.instrs[i - 1];
      return value.op == Op::LoadConst && say(Marker::LostReturn, value.a);
    }
    if (instr.op == Op::EndFinally) return false;
  }
  return false;
}

// Returns None among the constants of a code object, or else of its module.
std::optional<object::ConstId> none_of(const object::Module& module, object::CodeId code) {
  for (const object::ConstId id : module[code].consts) {
    if (module[id].kind == object::ConstKind::None) return id;
  }
  for (size_t i = 0; i < module.consts.size(); ++i) {
    if (module.consts[i].kind == object::ConstKind::None) return object::ConstId(i);
  }
  return std::nullopt;
}

}  // namespace

bool BlockStack::end_finally(State& state) {
  if (state.depth > 0 && hidden_at(chains_, state, state.depth - 1)) {
    const Chains::Link way_in = chains_[state.hidden];
    state.hidden = way_in.parent;
    --state.depth;
    if (way_in.kind == kNormal) return true;
    if (way_in.kind == kReturn) {
      returned_to_.insert(way_in.value);
      go_on(way_in.value, state);
    } else {
      fail("END_FINALLY within a with statement's cleanup");
    }
    return false;
  }
  Instr reraise = stream_.instrs[at_];
  reraise.op = Op::Reraise;
  reraise.a = 3;
  reraise.b = 0;
  transfer(reraise, *control_of(reraise), state);
  if (keep_ends_) keep_end(state);
  return false;
}

// Keeps where the statement of an exception handler continues, though not by this edge. The
// statement of a `with` is not marked: it does continue, if __exit__ returns true.
void BlockStack::keep_end(const State& state) {
  if (state.blocks == 0 || chains_[state.blocks].kind != kHandling || error_) return;
  const uint32_t level = chains_[state.blocks].level;
  if (level + kExceptionSlots != state.depth || at_ + 1 >= stream_.instrs.size()) return;
  exit_.next[0] = node(at_ + 1, {level, chains_[state.blocks].parent, state.hidden});
}

// Marks the jump statements that run a finally body which never reaches its end: that is their only
// effect. The statement is read from the code after the call, which is never reached.
void BlockStack::mark_lost_jumps() {
  for (const auto& [block, back] : calls_) {
    if (returned_to_.contains(back)) continue;
    Instr mark = stream_.instrs[back - 1];
    mark.op = Op::Marker;
    if (!mark_lost_jump(stream_, back, mark)) continue;
    // The block with its marker goes to the end, where there is room.
    DraftBlock& marked = draft_.blocks[block];
    const auto first = static_cast<uint32_t>(draft_.instrs.size());
    for (uint32_t i = 0; i < marked.count; ++i) {
      const Instr instr = draft_.instrs[marked.first + i];
      draft_.instrs.push_back(instr);
    }
    draft_.instrs.push_back(mark);
    marked.first = first;
    ++marked.count;
  }
}

// Leaves a finally body by `return`, `break` or `continue`: the way into it no longer matters.
void BlockStack::pop_finally(const Instr& instr, State& state) {
  const bool keeps_top = instr.a != 0;
  if (state.depth < 1 + instr.a) return fail("stack underflow");
  if (keeps_top && hidden_at(chains_, state, state.depth - 1)) {
    return fail("a finally return address is taken for a value");
  }
  if (hidden_at(chains_, state, state.depth - 1 - instr.a)) {
    state.hidden = chains_[state.hidden].parent;
    --state.depth;
    return;
  }
  const uint32_t handling = state.blocks;
  if (!leave_handler(chains_, state) || chains_[handling].level + 6 + instr.a != state.depth)
    return fail("POP_FINALLY outside of a finally body");
  const bool with_exit = chains_[handling].kind == kHandlingWith;
  if (keeps_top) emit(Op::Rot, 4, 0, state);
  for (int i = 0; i < 3; ++i) emit(Op::Pop, 0, 0, state);
  if (keeps_top) emit(Op::Rot, 4, 0, state);
  emit(Op::PopExcept, 3, 0, state);
  if (with_exit && keeps_top) emit(Op::Rot, 2, 0, state);
  if (with_exit) emit(Op::Pop, 0, 0, state);
}

void BlockStack::with_cleanup_start(State& state) {
  if (state.depth >= 2 && hidden_at(chains_, state, state.depth - 1)) {
    const Chains::Link way_in = chains_[state.hidden];
    // CPython would take a return address for an exception.
    if (way_in.kind != kNormal) return fail("a with statement's cleanup is called");
    state.hidden = way_in.parent;
    --state.depth;
    const auto none = none_of(module_, stream_.code);
    if (!none) return fail("the module has no None constant", ErrorCode::Unsupported);
    for (int i = 0; i < 3; ++i) emit(Op::LoadConst, none->value, 0, state);
    emit(Op::Call, 3, 1, state);
    // The result is in the slot of the exit function; the interpreter has it two slots higher,
    // above the way in and a None.
    --state.depth;
    state.hidden = chains_.push(state.hidden, way_in.kind, way_in.value, state.depth++);
    state.hidden = chains_.push(state.hidden, kNoException, 0, state.depth++);
    ++state.depth;
    return;
  }
  if (state.blocks == 0 || chains_[state.blocks].kind != kHandling ||
      chains_[state.blocks].level + 6 != state.depth || !solid(chains_, state, 7))
    return fail("WITH_CLEANUP_START outside of a with statement's cleanup");
  emit(Op::WithExceptStart, 7, 1, state);
  --state.depth;
  state.hidden = chains_.push(state.hidden, kException, 0, state.depth++);
  ++state.depth;
}

bool BlockStack::with_cleanup_finish(State& state) {
  if (state.depth < 2 || !hidden_at(chains_, state, state.depth - 2) ||
      hidden_at(chains_, state, state.depth - 1)) {
    fail("WITH_CLEANUP_FINISH without WITH_CLEANUP_START");
    return false;
  }
  const uint32_t kind = chains_[state.hidden].kind;
  state.hidden = chains_[state.hidden].parent;
  --state.depth;
  if (kind == kNoException) {
    emit(Op::Pop, 0, 0, state);
    return true;
  }
  if (kind != kException || state.blocks == 0 || chains_[state.blocks].kind != kHandling) {
    fail("WITH_CLEANUP_FINISH without WITH_CLEANUP_START");
    return false;
  }
  --state.depth;
  exit_.kind = ExitKind::Branch;
  exit_.jump = 0;
  exit_.instr = stream_.instrs[at_];
  exit_.instr.op = Op::BranchTrue;
  exit_.instr.a = 0;
  exit_.next[0] = add_block(at_, state);
  swallows_.insert(exit_.next[0].value);
  // The exit function stays below the exception; 3.8 itself has dropped it by now.
  const Chains::Link handling = chains_[state.blocks];
  state.blocks = chains_.push(handling.parent, kHandlingWith, 0, handling.level);
  exit_.next[1] = node(at_ + 1, state);
  return false;
}

// Drops the exception after __exit__ has returned true; the finally body then ends as a normal one.
void BlockStack::swallow_exception(State& state) {
  for (int i = 0; i < 3; ++i) emit(Op::Pop, 0, 0, state);
  emit(Op::PopExcept, 3, 0, state);
  if (!leave_handler(chains_, state)) fail("WITH_CLEANUP_FINISH outside of a handler");
  emit(Op::Pop, 0, 0, state);
  state.hidden = chains_.push(state.hidden, kNormal, 0, state.depth++);
}

}  // namespace pellucid::flow
