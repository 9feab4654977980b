// SPDX-License-Identifier: Apache-2.0
#include "ir/stack_machine.h"

#include <algorithm>
#include <utility>

#include "base/append.h"
#include "base/check.h"
#include "bytecode/op_facts.h"

namespace pellucid::ir {

void StackMachine::begin(BlockId block, ValueId settled) {
  id_ = block;
  block_ = &part_of(out_.blocks, block);
  settled_ = settled;
  copied_ = false;
  stack = block_->entry_stack;
}

ValueId StackMachine::top() const { return peek(1); }

ValueId StackMachine::peek(size_t depth) const {
  PELLUCID_CHECK(depth >= 1 && depth <= stack.size());
  return stack[stack.size() - depth];
}

ValueId StackMachine::pop() {
  const ValueId id = top();
  stack.pop_back();
  return id;
}

// Takes away the topmost slots.
void StackMachine::shrink(size_t slots) {
  PELLUCID_CHECK(slots <= stack.size());
  stack.erase(stack.end() - static_cast<ptrdiff_t>(slots), stack.end());
}

ValueId StackMachine::make(Value value, std::span<const ValueId> operands) {
  value.first = static_cast<uint32_t>(out_.operand_pool.size());
  value.count = static_cast<uint32_t>(operands.size());
  for (const ValueId id : operands) {
    out_.operand_pool.push_back(id);
    out_[id].marks |= kUsed;
  }
  out_.values.push_back(value);
  return ValueId(out_.values.size() - 1);
}

[[gnu::always_inline]] inline ValueId StackMachine::add_item(const bytecode::Instr& instr,
                                                             std::span<const ValueId> operands) {
  const auto first = static_cast<uint32_t>(out_.operand_pool.size());
  for (const ValueId id : operands) {
    append_to(out_.operand_pool, id);
    use(id);
  }
  const ValueId id(out_.values.size());
  append_to(out_.values, Value{.op = instr.op,
                               .a = instr.a,
                               .b = instr.b,
                               .first = first,
                               .count = static_cast<uint32_t>(operands.size()),
                               .offset = instr.offset,
                               .line = instr.line});
  append_to(block_->items, id);
  return id;
}

ValueId StackMachine::emit(const bytecode::Instr& instr, std::span<const ValueId> operands) {
  return add_item(instr, operands);
}

ValueId StackMachine::element(ValueId of, uint32_t index) {
  Value value;
  value.kind = ValueKind::Element;
  value.a = index;
  value.offset = out_[of].offset;
  value.line = out_[of].line;
  return make(value, {of});
}

// It is the one NULL of the function, so that paths that push one each agree at a join.
void StackMachine::push_null() { append_to(stack, kNull); }

void StackMachine::discard(const bytecode::Instr& instr) {
  const ValueId id = pop();
  // A bare `except:` drops the exception before anything else; a finally body keeps it, until one
  // of its branches leaves.
  Value& value = out_[id];
  const bool is_entry = value.offset == block_->offset;
  if (value.kind == ValueKind::Exception && block_->items.empty() && is_entry) value.b = 1;
  const uint8_t marks = value.marks;
  if (marks & kIterator) {
    return emit_drop(instr, id, Dropped::Iterator);
  }
  // `(x := v)` as a statement drops the copy that it has just stored.
  if (!block_->items.empty()) {
    const Value& last = out_[block_->items.back()];
    if (stores_name(last) && out_.operands(last)[0] == id) {
      return emit_drop(instr, id, Dropped::Stored);
    }
    // `a, a = 0, v` (3.13+): the value that a later target overwrites.
    const auto& items = block_->items;
    const bool is_constant = is_op(value, Op::LoadConst);
    if (is_constant && !(marks & kUsed) && is_op(last, Op::StoreFast) && last.line == value.line &&
        std::find(items.begin(), items.end(), id) != items.end()) {
      return emit_drop(instr, id, Dropped::Overwritten);
    }
  }
  // A constant that is dropped where it was loaded was written, for example as an f-string without
  // fields.
  if (is_op(value, Op::LoadConst) && !(marks & kUsed) && !block_->items.empty() &&
      block_->items.back() == id) {
    return emit_drop(instr, id, Dropped::Constant);
  }
  // `a or b` and `0 if a else b` as statements whose end was copied: at the start of a block, after
  // nothing but values that a comparison chain held, as in `a < (b or c) < d`.
  const bool starts = std::all_of(block_->items.begin(), block_->items.end(),
                                  [&](ValueId item) { return drops(out_[item], Dropped::Used); });
  if (starts && id == settled_) return emit_drop(instr, id, Dropped::Carried);
  const bool copied = std::find(stack.begin(), stack.end(), id) != stack.end();
  const bool silent = value.kind == ValueKind::Null || value.kind == ValueKind::Exception ||
                      is_op(value, Op::LoadConst, Op::BeforeWith, Op::BeforeAsyncWith);
  if (copied || silent) return;
  // A value that another path drops may turn out to be the iterator of an enclosing loop.
  if ((marks & kUsed) && value.kind != ValueKind::Phi) return;
  if (marks & kUsed) return emit_drop(instr, id, Dropped::Used);
  const bool annotates = instr.b == flow::kOfAnnotation;
  emit_drop(instr, id, annotates ? Dropped::Annotated : Dropped::Result);
}

void StackMachine::emit_drop(bytecode::Instr instr, ValueId id, Dropped what) {
  instr.b = static_cast<uint32_t>(what);
  const ValueId item = emit(instr, {id});
  if (what == Dropped::Used || what == Dropped::Result) dropped.emplace_back(id_, item);
}

void StackMachine::drop(const bytecode::Instr& instr, bool was_copied) {
  if (was_copied && !out_.is_generated) return emit_drop(instr, pop(), Dropped::Copy);
  discard(instr);
}

void StackMachine::copy(const bytecode::Instr& instr) {
  stack.push_back(peek(instr.a));
  copied_ = instr.a == 1;
}

void StackMachine::swap(const bytecode::Instr& instr) {
  PELLUCID_CHECK(instr.a >= 1 && instr.a <= stack.size());
  std::swap(stack[stack.size() - instr.a], stack.back());
}

void StackMachine::rotate(const bytecode::Instr& instr) {
  PELLUCID_CHECK(instr.a >= 1 && instr.a <= stack.size());
  std::rotate(stack.end() - instr.a, stack.end() - 1, stack.end());
}

void StackMachine::call(const bytecode::Instr& instr, uint32_t extra) {
  const size_t slots = size_t{instr.b} + instr.a + extra;
  PELLUCID_CHECK(stack.size() >= slots);
  const size_t base = stack.size() - slots;
  const auto is_null = [&](ValueId id) { return out_[id].kind == ValueKind::Null; };
  // A NULL among the callable's slots means that the other slot is called as it is. If that is a
  // NULL too, nothing is called, but something has to stand for the callee.
  const auto callee = stack.begin() + static_cast<ptrdiff_t>(base);
  auto kept = callee;
  for (auto slot = callee; slot != callee + instr.b; ++slot) {
    const bool may_be_left_out = slot + 1 != callee + instr.b || kept != callee;
    if (may_be_left_out && is_null(*slot)) continue;
    *kept++ = *slot;
  }
  stack.erase(kept, callee + instr.b);
  const std::span<const ValueId> operands = std::span<const ValueId>(stack).subspan(base);
  const size_t looked_at = std::min<size_t>(instr.b, operands.size());
  calls_null = calls_null || std::any_of(operands.begin(), operands.begin() + looked_at, is_null);
  const ValueId id = emit(instr, operands);
  shrink(operands.size());
  stack.push_back(id);
}

void StackMachine::call_ex(bytecode::Instr instr) {
  // `a` counts the arguments for call(): the tuple, and the dict unless it is a NULL.
  if ((instr.a & 1) && out_[top()].kind == ValueKind::Null) {
    stack.pop_back();
    instr.a = 0;
  }
  instr.a &= 1;
  call(instr, 1);
}

void StackMachine::load_method(const bytecode::Instr& instr) {
  const ValueId method = emit(instr, {pop()});
  stack.push_back(method);
  push_null();
}

// What it looks at stays below its result.
void StackMachine::look_at(const bytecode::Instr& instr, uint32_t depth) {
  stack.push_back(emit(instr, {peek(depth)}));
}

void StackMachine::mark(const bytecode::Instr& instr) { emit(instr, std::span<const ValueId>()); }

// Dropping the iterator of an asynchronous loop leaves the loop.
void StackMachine::ask_iterator(const bytecode::Instr& instr) {
  has_async_loop = true;
  mark_iterator(top());
  look_at(instr, 1);
}

// b: whether it is lazy. Whether it may be made lazy depends on its place: compilers note that in
// one copy of a finally body and not in another.
void StackMachine::import_name(bytecode::Instr instr) {
  instr.b = instr.b == 1;
  plain(instr);
}

void StackMachine::update_container(const bytecode::Instr& instr, uint32_t items) {
  std::vector<ValueId> operands(1);
  operands.insert(operands.end(), stack.end() - items, stack.end());
  shrink(items);
  operands[0] = peek(instr.a);
  const uint8_t marks = out_[operands[0]].marks;
  const ValueId result = emit(instr, operands);
  if (instr.a == 1) {
    stack.back() = result;
    return;
  }
  // Only the comprehension used it: its result may still be a statement.
  out_[operands[0]].marks = marks;
}

void StackMachine::push_elements(const bytecode::Instr& instr, uint32_t count) {
  const ValueId sequence = emit(instr, {pop()});
  for (uint32_t i = count; i-- > 0;) stack.push_back(element(sequence, i));
}

void StackMachine::match_keys(const bytecode::Instr& instr) {
  const ValueId keys = emit(instr, {peek(2), peek(1)});
  stack.push_back(keys);
  if (instr.b == 1) stack.push_back(element(keys, 1));
}

void StackMachine::match_class(const bytecode::Instr& instr) {
  const ValueId attributes = emit(instr, {peek(3), peek(2), peek(1)});
  shrink(3);
  stack.push_back(attributes);
  if (instr.b == 1) stack.push_back(element(attributes, 1));
}

void StackMachine::match_group(const bytecode::Instr& instr) {
  const ValueId match = emit(instr, {peek(2), peek(1)});
  shrink(2);
  stack.push_back(element(match, 0));
  stack.push_back(element(match, 1));
}

void StackMachine::copy_without_keys(const bytecode::Instr& instr) {
  const ValueId keys = pop();
  stack.push_back(emit(instr, {top(), keys}));
}

void StackMachine::push_exception(const bytecode::Instr& instr) {
  Value previous;
  previous.kind = ValueKind::Exception;
  previous.a = static_cast<uint32_t>(ExceptionPart::Previous);
  previous.offset = instr.offset;
  // Where every slot is a parameter, nothing else shows it.
  if (notes_exceptions_) {
    Value push;
    push.op = instr.op;
    push.offset = instr.offset;
    push.line = instr.line;
    block_->items.push_back(make(push, {top()}));
  }
  const ValueId exception = pop();
  stack.push_back(make(previous, std::span<const ValueId>()));
  stack.push_back(exception);
}

void StackMachine::leave_handler(const bytecode::Instr& instr) {
  shrink(instr.a);
  emit(instr, std::span<const ValueId>());
}

void StackMachine::enter_with(const bytecode::Instr& instr) {
  const ValueId exit = emit(instr, {pop()});
  stack.push_back(exit);
  if (instr.b == 2) push_null();
  stack.push_back(element(exit, 0));
}

void StackMachine::clean_up_throw(const bytecode::Instr& instr) {
  // The iterator, the sent value, the exception; the slot above the iterator is the interpreter's.
  const uint32_t slots = 3 + instr.b;
  const ValueId thrown = emit(instr, {peek(slots), peek(2), peek(1)});
  shrink(slots);
  for (uint32_t i = 0; i <= instr.b; ++i) push_null();
  stack.push_back(thrown);
}

// Executes an instruction that is not plain.
void StackMachine::special(const bytecode::Instr& instr) {
  const bool copied = std::exchange(copied_, false);
  switch (instr.op) {
    case Op::Pop:
      return drop(instr, copied);
    case Op::Copy:
      return copy(instr);
    case Op::Swap:
      return swap(instr);
    case Op::Rot:
      return rotate(instr);
    case Op::PushNull:
      return push_null();
    case Op::GetAnext:
      return ask_iterator(instr);
    case Op::LoadMethod:
    case Op::LoadSpecial:
      return load_method(instr);
    case Op::Call:
      return call(instr, 0);
    case Op::CallKw:
      return call(instr, 1);
    case Op::CallEx:
      return call_ex(instr);
    case Op::ImportName:
      return import_name(instr);
    case Op::ListAppend:
    case Op::SetAdd:
    case Op::ListExtend:
    case Op::SetUpdate:
    case Op::DictUpdate:
    case Op::DictMerge:
      return update_container(instr, 1);
    case Op::MapAdd:
      return update_container(instr, 2);
    case Op::UnpackSequence:
      return push_elements(instr, instr.a);
    case Op::UnpackEx:
      return push_elements(instr, instr.a + 1 + instr.b);
    case Op::ImportFrom:
    case Op::GetLen:
    case Op::MatchMapping:
    case Op::MatchSequence:
      return look_at(instr, 1);
    case Op::MatchKeys:
      return match_keys(instr);
    case Op::MatchClass:
      return match_class(instr);
    case Op::CopyDictWithoutKeys:
      return copy_without_keys(instr);
    case Op::PushExcInfo:
      return push_exception(instr);
    case Op::Marker:
      return mark(instr);
    case Op::PopExcept:
    case Op::EndAsyncFor:
      return leave_handler(instr);
    case Op::EgMatch:
      return match_group(instr);
    case Op::BeforeWith:
    case Op::BeforeAsyncWith:
      return enter_with(instr);
    case Op::WithExceptStart:
      return look_at(instr, instr.a);
    case Op::CleanupThrow:
      return clean_up_throw(instr);
    default:
      PELLUCID_CHECK(false);
  }
}

// Executes an instruction that takes its operands from the top and leaves at most one result.
[[gnu::always_inline]] inline void StackMachine::plain(const bytecode::Instr& instr) {
  const bytecode::StackEffect effect = bytecode::effect_of(instr);
  PELLUCID_CHECK(effect.pops <= stack.size() && effect.pushes <= 1);
  const ValueId id = add_item(instr, std::span<const ValueId>(stack).last(effect.pops));
  if (effect.pops > 0) stack.erase(stack.end() - effect.pops, stack.end());
  if (effect.pushes == 1) append_to(stack, id);
}

void StackMachine::run(std::span<const bytecode::Instr> instrs) {
  for (const bytecode::Instr& instr : instrs) {
    if (bytecode::is_plain(instr.op)) {
      copied_ = false;
      plain(instr);
    } else {
      special(instr);
    }
  }
}

}  // namespace pellucid::ir
