// SPDX-License-Identifier: Apache-2.0
#include "ir/stack_machine.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "bytecode/op_facts.h"

namespace pellucid::ir {

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

Value& StackMachine::add(std::span<const ValueId> operands) {
  Value& value = out_.values.emplace_back();
  value.first = static_cast<uint32_t>(out_.operand_pool.size());
  value.count = static_cast<uint32_t>(operands.size());
  for (const ValueId id : operands) {
    out_.operand_pool.push_back(id);
    use(id);
  }
  used_.push_back(0);
  return value;
}

ValueId StackMachine::make(Value value, std::span<const ValueId> operands) {
  Value& added = add(operands);
  value.first = added.first;
  value.count = added.count;
  added = value;
  return ValueId(out_.values.size() - 1);
}

ValueId StackMachine::emit(const bytecode::Instr& instr, std::span<const ValueId> operands) {
  Value& value = add(operands);
  value.op = instr.op;
  value.a = instr.a;
  value.b = instr.b;
  value.offset = instr.offset;
  value.line = instr.line;
  const ValueId id(out_.values.size() - 1);
  block_.items.push_back(id);
  return id;
}

ValueId StackMachine::element(ValueId of, uint32_t index) {
  Value value;
  value.kind = ValueKind::Element;
  value.a = index;
  value.offset = out_[of].offset;
  value.line = out_[of].line;
  return make(value, {of});
}

// Returns the one NULL of the function, so that paths that push one each agree at a join.
ValueId StackMachine::null() { return kNull; }

void StackMachine::discard(const bytecode::Instr& instr) {
  const ValueId id = pop();
  // A bare `except:` drops the exception before anything else; a finally body keeps it, until one
  // of its branches leaves.
  const bool is_entry = out_[id].offset == block_.offset;
  if (out_[id].kind == ValueKind::Exception && block_.items.empty() && is_entry) out_[id].b = 1;
  const Value& value = out_[id];
  const uint8_t marks = used_[id.index()];
  if (marks & kIterator) {
    return emit_drop(instr, id, Dropped::Iterator);
  }
  // `(x := v)` as a statement drops the copy that it has just stored.
  if (!block_.items.empty()) {
    const Value& last = out_[block_.items.back()];
    if (stores_name(last) && out_.operands(last)[0] == id) {
      return emit_drop(instr, id, Dropped::Stored);
    }
    // `a, a = 0, v` (3.13+): the value that a later target overwrites.
    const auto& items = block_.items;
    const bool is_constant = is_op(value, Op::LoadConst);
    if (is_constant && !(marks & kUsed) && is_op(last, Op::StoreFast) && last.line == value.line &&
        std::find(items.begin(), items.end(), id) != items.end()) {
      return emit_drop(instr, id, Dropped::Overwritten);
    }
  }
  // A constant that is dropped where it was loaded was written, for example as an f-string without
  // fields.
  if (is_op(value, Op::LoadConst) && !(marks & kUsed) && !block_.items.empty() &&
      block_.items.back() == id) {
    return emit_drop(instr, id, Dropped::Constant);
  }
  // `a or b` and `0 if a else b` as statements whose end was copied: at the start of a block, after
  // nothing but values that a comparison chain held, as in `a < (b or c) < d`.
  const bool starts = std::all_of(block_.items.begin(), block_.items.end(),
                                  [&](ValueId item) { return drops(out_[item], Dropped::Used); });
  if (starts && id == settled) return emit_drop(instr, id, Dropped::Carried);
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
  has_drops = has_drops || what == Dropped::Used || what == Dropped::Result;
  emit(instr, {id});
}

void StackMachine::call(const bytecode::Instr& instr, uint32_t extra) {
  const uint32_t arguments = instr.a + extra;
  PELLUCID_CHECK(stack.size() >= arguments + instr.b);
  const size_t base = stack.size() - arguments - instr.b;
  size_t end = base;  // of the operands, which close up
  for (size_t i = base; i < stack.size(); ++i) {
    // A NULL among the callable's slots means that the other slot is called as it is. If that is a
    // NULL too, nothing is called, but something has to stand for the callee.
    const bool may_be_left_out = i + 1 < base + instr.b || end > base;
    if (i < base + instr.b && may_be_left_out && out_[stack[i]].kind == ValueKind::Null) continue;
    stack[end++] = stack[i];
  }
  const ValueId id = emit(instr, std::span<const ValueId>(stack).subspan(base, end - base));
  stack.resize(base);
  stack.push_back(id);
}

void StackMachine::update_container(const bytecode::Instr& instr, uint32_t items) {
  std::vector<ValueId> operands(1);
  operands.insert(operands.end(), stack.end() - items, stack.end());
  stack.resize(stack.size() - items);
  operands[0] = peek(instr.a);
  const uint8_t marks = used_[operands[0].index()];
  const ValueId result = emit(instr, operands);
  if (instr.a == 1) stack.back() = result;
  // Only the comprehension used it: its result may still be a statement.
  if (instr.a > 1) used_[operands[0].index()] = marks;
}

void StackMachine::push_elements(const bytecode::Instr& instr, uint32_t count) {
  const ValueId sequence = emit(instr, {pop()});
  for (uint32_t i = count; i-- > 0;) stack.push_back(element(sequence, i));
}

void StackMachine::generic(const bytecode::Instr& instr) {
  const bytecode::StackEffect effect = bytecode::effect_of(instr);
  PELLUCID_CHECK(effect.pops <= stack.size() && effect.pushes <= 1);
  const ValueId id = emit(instr, std::span<const ValueId>(stack).last(effect.pops));
  stack.erase(stack.end() - effect.pops, stack.end());
  if (effect.pushes == 1) stack.push_back(id);
}

void StackMachine::step(const bytecode::Instr& instr) {
  const bool copied = std::exchange(copied_, false);
  switch (instr.op) {
    case Op::Pop:
      if (copied && !out_.is_generated) return emit_drop(instr, pop(), Dropped::Copy);
      return discard(instr);
    case Op::Copy:
      stack.push_back(peek(instr.a));
      copied_ = instr.a == 1;
      return;
    case Op::Swap:
      PELLUCID_CHECK(instr.a >= 1 && instr.a <= stack.size());
      std::swap(stack[stack.size() - instr.a], stack.back());
      return;
    case Op::Rot:
      PELLUCID_CHECK(instr.a >= 1 && instr.a <= stack.size());
      std::rotate(stack.end() - instr.a, stack.end() - 1, stack.end());
      return;
    case Op::PushNull:
      stack.push_back(null());
      return;
    case Op::GetAnext:
      // Dropping the iterator of an asynchronous loop leaves the loop.
      mark_iterator(top());
      stack.push_back(emit(instr, {top()}));
      return;
    case Op::LoadMethod:
    case Op::LoadSpecial: {
      const ValueId method = emit(instr, {pop()});
      stack.push_back(method);
      stack.push_back(null());
      return;
    }
    case Op::Call:
      return call(instr, 0);
    case Op::CallKw:
      return call(instr, 1);
    case Op::CallEx: {
      bytecode::Instr with_kwargs = instr;
      // `a` counts the arguments for call(): the tuple, and the dict unless it is a NULL.
      if ((instr.a & 1) && out_[top()].kind == ValueKind::Null) {
        stack.pop_back();
        with_kwargs.a = 0;
      }
      with_kwargs.a &= 1;
      const size_t before = out_.values.size();
      call(with_kwargs, 1);
      PELLUCID_CHECK(out_.values.size() == before + 1);
      return;
    }
    case Op::ImportName: {
      // b: whether it is lazy. Whether it may be made lazy depends on its place: compilers note
      // that in one copy of a finally body and not in another.
      bytecode::Instr import = instr;
      import.b = instr.b == 1;
      return generic(import);
    }
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
      stack.push_back(emit(instr, {top()}));
      return;
    case Op::MatchKeys: {
      const ValueId keys = emit(instr, {peek(2), peek(1)});
      stack.push_back(keys);
      if (instr.b == 1) stack.push_back(element(keys, 1));
      return;
    }
    case Op::MatchClass: {
      const std::vector<ValueId> operands(stack.end() - 3, stack.end());
      stack.resize(stack.size() - 3);
      const ValueId attributes = emit(instr, operands);
      stack.push_back(attributes);
      if (instr.b == 1) stack.push_back(element(attributes, 1));
      return;
    }
    case Op::CopyDictWithoutKeys: {
      const ValueId keys = pop();
      stack.push_back(emit(instr, {top(), keys}));
      return;
    }
    case Op::PushExcInfo: {
      Value previous;
      previous.kind = ValueKind::Exception;
      previous.a = static_cast<uint32_t>(ExceptionPart::Previous);
      previous.offset = instr.offset;
      const ValueId exception = pop();
      stack.push_back(make(previous, std::span<const ValueId>()));
      stack.push_back(exception);
      return;
    }
    case Op::Marker:
      emit(instr, std::span<const ValueId>());
      return;
    case Op::PopExcept:
    case Op::EndAsyncFor: {
      PELLUCID_CHECK(instr.a <= stack.size());
      stack.resize(stack.size() - instr.a);
      emit(instr, std::span<const ValueId>());
      return;
    }
    case Op::EgMatch: {
      const std::vector<ValueId> operands(stack.end() - 2, stack.end());
      stack.resize(stack.size() - 2);
      const ValueId match = emit(instr, operands);
      stack.push_back(element(match, 0));
      stack.push_back(element(match, 1));
      return;
    }
    case Op::BeforeWith:
    case Op::BeforeAsyncWith: {
      const ValueId exit = emit(instr, {pop()});
      stack.push_back(exit);
      if (instr.b == 2) stack.push_back(null());
      stack.push_back(element(exit, 0));
      return;
    }
    case Op::WithExceptStart:
      stack.push_back(emit(instr, {peek(instr.a)}));
      return;
    case Op::CleanupThrow: {
      // The iterator, the sent value, the exception; the slot above the iterator is the
      // interpreter's.
      const uint32_t slots = 3 + instr.b;
      const ValueId thrown = emit(instr, {peek(slots), peek(2), peek(1)});
      stack.resize(stack.size() - slots);
      for (uint32_t i = 0; i <= instr.b; ++i) stack.push_back(null());
      stack.push_back(thrown);
      return;
    }
    case Op::LoadConst:
    case Op::LoadFast:
    case Op::LoadFastAndClear:
    case Op::StoreFast:
    case Op::DeleteFast:
    case Op::LoadName:
    case Op::StoreName:
    case Op::DeleteName:
    case Op::LoadGlobal:
    case Op::StoreGlobal:
    case Op::DeleteGlobal:
    case Op::LoadDeref:
    case Op::StoreDeref:
    case Op::DeleteDeref:
    case Op::LoadClosure:
    case Op::MakeCell:
    case Op::LoadClassDeref:
    case Op::LoadFromDictOrDeref:
    case Op::LoadFromDictOrGlobals:
    case Op::LoadLocals:
    case Op::LoadBuildClass:
    case Op::LoadAssertionError:
    case Op::LoadCommonConstant:
    case Op::LoadAttr:
    case Op::LoadSuper:
    case Op::StoreAttr:
    case Op::DeleteAttr:
    case Op::Subscr:
    case Op::StoreSubscr:
    case Op::DeleteSubscr:
    case Op::Unary:
    case Op::Binary:
    case Op::Compare:
    case Op::IsOp:
    case Op::ContainsOp:
    case Op::ToBool:
    case Op::BuildTuple:
    case Op::BuildList:
    case Op::BuildSet:
    case Op::BuildMap:
    case Op::BuildConstKeyMap:
    case Op::BuildString:
    case Op::BuildSlice:
    case Op::BuildTupleUnpack:
    case Op::BuildTupleUnpackWithCall:
    case Op::BuildListUnpack:
    case Op::BuildSetUnpack:
    case Op::BuildMapUnpack:
    case Op::BuildMapUnpackWithCall:
    case Op::ListToTuple:
    case Op::Convert:
    case Op::Format:
    case Op::BuildInterpolation:
    case Op::BuildTemplate:
    case Op::MakeFunction:
    case Op::SetFunctionAttribute:
    case Op::GetIter:
    case Op::GetYieldFromIter:
    case Op::StartGenerator:
    case Op::GetAwaitable:
    case Op::GetAiter:
    case Op::YieldValue:
    case Op::YieldFrom:
    case Op::Intrinsic1:
    case Op::Intrinsic2:
    case Op::ImportStar:
    case Op::SetupAnnotations:
    case Op::PrintExpr:
    case Op::ExcMatch:
      return generic(instr);
    case Op::Jump:
    case Op::BranchTrue:
    case Op::BranchFalse:
    case Op::BranchNone:
    case Op::BranchNotNone:
    case Op::ForIter:
    case Op::Send:
    case Op::ReturnValue:
    case Op::Raise:
    case Op::Reraise:
    case Op::Unsayable:
    case Op::SetupFinally:
    case Op::SetupWith:
    case Op::SetupAsyncWith:
    case Op::PopBlock:
    case Op::BeginFinally:
    case Op::CallFinally:
    case Op::PopFinally:
    case Op::EndFinally:
    case Op::WithCleanupStart:
    case Op::WithCleanupFinish:
      break;  // exits and block-stack instructions are no items of a flow::Block
  }
  PELLUCID_CHECK(false);
}

}  // namespace pellucid::ir
