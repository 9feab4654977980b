// SPDX-License-Identifier: Apache-2.0
// The silent instructions: executes each on the state of one side.
#include <algorithm>

#include "base/check.h"
#include "verify/machine/silent.h"

namespace pellucid::verify {

namespace {

Value pop(std::vector<Value>& stack) {
  PELLUCID_CHECK(!stack.empty());
  const Value value = stack.back();
  stack.pop_back();
  return value;
}

// Returns the value at `depth` from the top; 1 is the top.
Value& peek(std::vector<Value>& stack, uint32_t depth) {
  PELLUCID_CHECK(depth >= 1 && depth <= stack.size());
  return stack[stack.size() - depth];
}

std::optional<bool> compare_integers(uint32_t op, int64_t x, int64_t y) {
  using bytecode::CompareOperator;
  switch (static_cast<CompareOperator>(op)) {
    case CompareOperator::Lt:
      return x < y;
    case CompareOperator::LtE:
      return x <= y;
    case CompareOperator::Eq:
      return x == y;
    case CompareOperator::NotEq:
      return x != y;
    case CompareOperator::Gt:
      return x > y;
    case CompareOperator::GtE:
      return x >= y;
  }
  return std::nullopt;
}

// Returns the cell of an argument that an instruction works on, if its content is known.
OwnCell* own_cell(const SideCode& on, State& state, const Instr& instr) {
  if (state.cells.empty()) return nullptr;
  OwnCell* cell = state.own_cell(on.slot(instr));
  if (cell == nullptr) return nullptr;
  // An inlined comprehension has another cell under the same name.
  const bool is_first = on.values().is(state[on.side].locals[cell->slot], Kind::Cell);
  return is_first ? cell : nullptr;
}

// Returns the object that a global of generated code stands for.
std::optional<Value> constant_after(const SideCode& on, const Instr& instr) {
  if (on.side != Side::B || !on.context.bound_globals) return std::nullopt;
  return on.values().opaque(on.local(instr));
}

// Stores a value in a local.
void store(const SideCode& on, State& state, const Instr& instr, Value value) {
  const uint32_t at = on.slot(instr);
  Half& half = state[on.side];
  // The local holds this value already: nothing is released or changed.
  if (half.locals[at] == value && on.values().is_object(value)) return;
  half.locals.set(on.values(), at, value);
  if (on.context.frame->owners[at] == Frame::kShared) half.stores.push_back(at);
}

bool fail(std::string& problem, std::string reason) {
  problem = std::move(reason);
  return false;
}

}  // namespace

// Returns false if the instruction is an effect (or, with `problem` set, if the proof ends here).
bool execute(const SideCode& on, State& state, const Instr& instr, std::string& problem) {
  Values& values = on.values();
  Half& half = state[on.side];
  std::vector<Value>& stack = half.stack;
  switch (instr.op) {
    case Op::Pop:
      pop(stack);
      return true;
    case Op::Copy: {
      const Value value = peek(stack, instr.a);
      stack.push_back(value);
      return true;
    }
    case Op::Swap:
      std::swap(peek(stack, 1), peek(stack, instr.a));
      return true;
    case Op::Rot: {
      const Value top = pop(stack);
      PELLUCID_CHECK(instr.a >= 1 && instr.a - 1 <= stack.size());
      stack.insert(stack.end() - (instr.a - 1), top);
      return true;
    }
    case Op::PushNull:
      stack.push_back(values.null());
      return true;
    case Op::LoadConst:
      stack.push_back(values.constant(on.side, instr.constant()));
      return true;
    case Op::LoadAssertionError:
    case Op::LoadCommonConstant:
      stack.push_back(values.special(Op::LoadCommonConstant, instr.a));
      return true;

    case Op::LoadFast: {
      const Value value = half.locals[on.slot(instr)];
      if (!values.is_object(value)) return false;
      if (half.tested == value) half.tested = half.truth = Value();
      stack.push_back(value);
      return true;
    }
    case Op::LoadFastAndClear:
      stack.push_back(half.locals[on.slot(instr)]);
      store(on, state, instr, values.null());
      return true;
    case Op::LoadClosure:
      if (OwnCell* cell = own_cell(on, state, instr)) cell->is_taken = true;
      stack.push_back(half.locals[on.slot(instr)]);
      return true;
    case Op::LoadDeref:
      if (const OwnCell* cell = own_cell(on, state, instr)) {
        stack.push_back(cell->content);
        return true;
      }
      return false;
    case Op::StoreDeref: {
      // The cell holds this value already.
      const OwnCell* cell = own_cell(on, state, instr);
      if (cell == nullptr || peek(stack, 1) != cell->content) return false;
      pop(stack);
      return true;
    }
    case Op::StoreFast: {
      const Value value = pop(stack);
      // A local that B lacks may only hold a container that has not escaped.
      if (on.side == Side::A && on.context.frame->owners[on.slot(instr)] == Frame::kOnlyA &&
          !(on.context.extra_locals && values.is(value, Kind::Fresh))) {
        return fail(problem,
                    "the local " + std::string(values.text(on.local(instr))) + " is missing");
      }
      store(on, state, instr, value);
      return true;
    }
    case Op::DeleteFast:
      if (!values.is_object(half.locals[on.slot(instr)])) return false;
      store(on, state, instr, values.null());
      return true;
    case Op::LoadGlobal:
    case Op::LoadName:
      if (load_steady(on, state, instr)) return true;
      if (const auto constant = constant_after(on, instr)) {
        stack.push_back(*constant);
        return true;
      }
      return false;

    case Op::IsOp: {
      // A test of a test would nest values without bound: it is an effect. Tests with None never
      // are.
      const auto nests = [&](Value value) {
        return values.is(value, Kind::Is) || values.is(value, Kind::Not) ||
               values.is(value, Kind::Method);
      };
      const bool is_known = peek(stack, 1) == values.none() || peek(stack, 2) == values.none();
      if (!is_known && (nests(peek(stack, 1)) || nests(peek(stack, 2)))) return false;
      const Value y = pop(stack);
      const Value x = pop(stack);
      const Value same = values.identity(x, y);
      stack.push_back(instr.a ? values.negation(same) : same);
      return true;
    }
    case Op::Unary:
    case Op::ToBool: {
      if (instr.op == Op::Unary && instr.a != static_cast<uint32_t>(bytecode::UnaryOperator::Not)) {
        // `+7` is the object 7: versions fold it at different stages.
        const bool is_plus = instr.a == static_cast<uint32_t>(bytecode::UnaryOperator::Positive);
        return is_plus && is_number(values, peek(stack, 1));
      }
      const auto truth = truth_of(values, state, on.side, peek(stack, 1));
      if (!truth) return false;
      half.tested = half.truth = Value();
      stack.back() = instr.op == Op::Unary ? values.negation(*truth) : *truth;
      return true;
    }
    case Op::Compare: {
      const auto y = as_integer(values, peek(stack, 1));
      const auto x = as_integer(values, peek(stack, 2));
      if (!x || !y) return false;
      const auto truth = compare_integers(instr.a, *x, *y);
      PELLUCID_CHECK(truth.has_value());
      stack.pop_back();
      stack.back() = values.boolean(*truth);
      return true;
    }

    case Op::PushExcInfo: {
      // The previous exception is only consumed by PopExcept.
      const Value exception = pop(stack);
      stack.push_back(values.special(Op::PushExcInfo, 0));
      stack.push_back(exception);
      half.exceptions.push_back(exception);
      return true;
    }
    case Op::PopExcept:
      PELLUCID_CHECK(!half.exceptions.empty() && instr.a <= stack.size());
      half.exceptions.pop_back();
      stack.resize(stack.size() - instr.a);
      return true;

    case Op::BuildTuple:
    case Op::BuildList:
    case Op::BuildSlice:
    case Op::ListAppend:
    case Op::ListExtend:
    case Op::ListToTuple:
    case Op::UnpackSequence:
    case Op::DeleteSubscr:
      return execute_on_fresh(on, state, instr, Name());
    case Op::Call:
      return call_nothing(on, state, instr) || execute_on_fresh(on, state, instr, Name());
    case Op::CallEx:
      return call_rotation(on, state, instr);
    case Op::BuildMap:
    case Op::BuildConstKeyMap:
    case Op::MapAdd:
    case Op::DictUpdate:
    case Op::DictMerge:
      return execute_on_dictionary(on, state, instr);
    case Op::Subscr:
    case Op::StoreSubscr:
      return execute_on_fresh(on, state, instr, Name()) || execute_on_dictionary(on, state, instr);
    case Op::LoadMethod:
      return load_steady(on, state, instr) || execute_on_fresh(on, state, instr, on.local(instr));
    case Op::LoadAttr:
      return load_steady(on, state, instr);
    case Op::MakeFunction:
      return make_function(on, state, instr);
    case Op::SetFunctionAttribute:
      return set_function_attribute(on, state, instr);

    case Op::StoreName:
    case Op::DeleteName:
    case Op::StoreGlobal:
    case Op::DeleteGlobal:
    case Op::DeleteDeref:
    case Op::MakeCell:
    case Op::LoadClassDeref:
    case Op::LoadFromDictOrDeref:
    case Op::LoadFromDictOrGlobals:
    case Op::LoadLocals:
    case Op::LoadBuildClass:
    case Op::LoadSpecial:
    case Op::LoadSuper:
    case Op::StoreAttr:
    case Op::DeleteAttr:
    case Op::Binary:
    case Op::ContainsOp:
    case Op::BuildSet:
    case Op::BuildString:
    case Op::BuildTupleUnpack:
    case Op::BuildTupleUnpackWithCall:
    case Op::BuildListUnpack:
    case Op::BuildSetUnpack:
    case Op::BuildMapUnpack:
    case Op::BuildMapUnpackWithCall:
    case Op::SetAdd:
    case Op::SetUpdate:
    case Op::UnpackEx:
    case Op::Convert:
    case Op::Format:
    case Op::BuildInterpolation:
    case Op::BuildTemplate:
    case Op::CallKw:
    case Op::GetIter:
    case Op::GetYieldFromIter:
    case Op::StartGenerator:
    case Op::GetAwaitable:
    case Op::GetAiter:
    case Op::GetAnext:
    case Op::YieldValue:
    case Op::YieldFrom:
    case Op::Intrinsic1:
    case Op::Intrinsic2:
    case Op::ImportName:
    case Op::ImportFrom:
    case Op::ImportStar:
    case Op::SetupAnnotations:
    case Op::PrintExpr:
    case Op::GetLen:
    case Op::MatchMapping:
    case Op::MatchSequence:
    case Op::MatchKeys:
    case Op::MatchClass:
    case Op::CopyDictWithoutKeys:
    case Op::ExcMatch:
    case Op::EgMatch:
    case Op::BeforeWith:
    case Op::BeforeAsyncWith:
    case Op::WithExceptStart:
    case Op::CleanupThrow:
    case Op::EndAsyncFor:
      return false;

    // Exits of blocks, removed by flow::build, or only in graphs for structure.
    case Op::Marker:
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
      return fail(problem, "the block holds " + std::string(bytecode::name_of(instr.op)));
  }
  return false;
}

}  // namespace pellucid::verify
