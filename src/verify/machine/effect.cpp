// SPDX-License-Identifier: Apache-2.0
// Effects: describes the observable effect of an instruction, and executes it on one side.
#include <algorithm>

#include "base/check.h"
#include "object/known.h"
#include "verify/machine/releases.h"

namespace pellucid::verify {

namespace {

using bytecode::Operand;

// Returns the inputs without the NULL that may be in one of the callee's two slots.
std::vector<Value> without_null(const Values& values, std::vector<Value> inputs, uint32_t slots) {
  for (uint32_t i = slots; i-- > 0 && slots > 1;) {
    if (!values.is(inputs[i], Kind::Null)) continue;
    inputs.erase(inputs.begin() + i);
    break;
  }
  return inputs;
}

// Returns how many slots below the popped ones an instruction reads.
uint32_t peeks_of(Op op) {
  switch (op) {
    case Op::ImportFrom:
    case Op::GetAnext:
    case Op::GetLen:
    case Op::MatchMapping:
    case Op::MatchSequence:
    case Op::CopyDictWithoutKeys:
      return 1;
    case Op::MatchKeys:
      return 2;
    default:
      return 0;
  }
}

bool gives_boolean(Op op) {
  return op == Op::ContainsOp || op == Op::IsOp || op == Op::ExcMatch || op == Op::MatchMapping ||
         op == Op::MatchSequence;
}

bool extends_container(Op op) {
  return op == Op::ListAppend || op == Op::ListExtend || op == Op::SetAdd || op == Op::SetUpdate ||
         op == Op::MapAdd || op == Op::DictUpdate || op == Op::DictMerge;
}

// Replaces the containers of `*args` and `**kwargs` by their items, which is all the callee sees.
void pass_items(Values& values, const State& state, Effect& effect) {
  const auto items = items_of(values, state, effect.inputs[1]);
  if (!items) return;
  std::vector<Value> inputs{effect.inputs[0]};
  inputs.insert(inputs.end(), items->begin(), items->end());
  if (effect.inputs.size() > 2) {
    const Container* named = state.container(effect.inputs[2]);
    if (named == nullptr || named->shape != Container::kDict) return;
    std::vector<Value> names;
    for (size_t i = 0; i + 1 < named->items.size(); i += 2) {
      const Constant* name = values.as_constant(named->items[i]);
      if (name == nullptr || name->kind != object::ConstKind::Str) return;
      names.push_back(named->items[i]);
      inputs.push_back(named->items[i + 1]);
    }
    if (!names.empty()) inputs.push_back(*values.constant_of(object::ConstKind::Tuple, names));
    effect.op = names.empty() ? Op::Call : Op::CallKw;
  } else {
    effect.op = Op::Call;
  }
  effect.inputs = std::move(inputs);
}

// Returns the items of a display such as `{1, 2, 3}`, which 3.9+ compiles to a new set updated with
// a constant. An empty set, written `{*()}`, is made the same way.
std::optional<std::vector<Value>> folded_set(const SideCode& on, const Point& point) {
  const flow::Block& here = on.block(point);
  const Instr* const first = &on.graph.instrs[here.first + point.at];
  if (first->op != Op::BuildSet || first->a != 0 || point.at + 2 >= here.count ||
      first[1].op != Op::LoadConst || first[2].op != Op::SetUpdate || first[2].a != 1) {
    return std::nullopt;
  }
  Values& values = on.values();
  const Value added = values.constant(on.side, first[1].constant());
  if (const auto items = tuple_items(values, added); items && items->empty()) return items;
  return set_items(values, added);
}

// Returns the items of a display of many constants and locals, which are added one by one: nothing
// else happens between, so it is one instruction with all items on the stack. What it hashes can
// change no local.
std::vector<Value> added_one_by_one(const SideCode& on, const State& state, const Point& point) {
  const flow::Block& here = on.block(point);
  const Instr* const first = &on.graph.instrs[here.first + point.at];
  std::vector<Value> items;
  if (first->op != Op::BuildSet || first->a != 0) return items;
  const Half& half = state[on.side];
  for (uint32_t i = 1; point.at + i + 1 < here.count; i += 2) {
    const Instr& load = first[i];
    if (first[i + 1].op != Op::SetAdd || first[i + 1].a != 1) break;
    if (load.op == Op::LoadConst) {
      items.push_back(on.values().constant(on.side, load.constant()));
    } else if (load.op == Op::LoadFast && on.values().is_object(half.locals[on.slot(load)])) {
      items.push_back(half.locals[on.slot(load)]);
    } else {
      break;
    }
  }
  return items;
}

// Describes the effect of an instruction, an exit excepted.
void describe(const SideCode& on, const Instr& instr, const State& state, Effect& effect) {
  Values& values = on.values();
  const std::vector<Value>& stack = state[on.side].stack;
  const bytecode::StackEffect moves = bytecode::stack_effect(instr);
  const uint32_t reads = moves.pops + peeks_of(instr.op);
  PELLUCID_CHECK(reads <= stack.size());
  effect.inputs.assign(stack.end() - reads, stack.end());
  effect.results = moves.pushes;
  effect.raises = bytecode::can_raise(instr.op);
  effect.boolean = gives_boolean(instr.op);
  switch (bytecode::operand_of(instr.op)) {
    case Operand::Name:
    case Operand::Local:
    case Operand::Cell:
      effect.a = on.local(instr).value;
      break;
    case Operand::Operator:
    case Operand::Flags:
    case Operand::Kind:
      effect.a = instr.a;
      effect.b = instr.b;
      break;
    case Operand::Count:
      effect.a = instr.a;
      break;
    case Operand::None:
    case Operand::Const:
    case Operand::Depth:
    case Operand::Target:
      break;
  }
  if (bytecode::operand_of(instr.op) == Operand::Cell) {
    effect.inputs.push_back(state[on.side].locals[on.slot(instr)]);
  }
  if (extends_container(instr.op)) {
    PELLUCID_CHECK(instr.a >= 1 && instr.a + moves.pops <= stack.size());
    effect.inputs.push_back(stack[stack.size() - moves.pops - instr.a]);
  }
  switch (instr.op) {
    case Op::LoadFast:
    case Op::DeleteFast:
      effect.inputs = {state[on.side].locals[on.slot(instr)]};
      effect.results = 0;
      effect.always = values.is(effect.inputs[0], Kind::Null);
      break;
    case Op::Unary:
    case Op::ToBool:
      if (instr.op == Op::Unary && instr.a != static_cast<uint32_t>(bytecode::UnaryOperator::Not)) {
        break;
      }
      effect.op = Op::ToBool;
      effect.a = 0;
      effect.results = 0;
      break;
    case Op::MakeCell:
      effect.results = 1;
      break;
    case Op::ImportName:
      effect.b = instr.b;
      // A code generator may pass an empty tuple for no names, where a compiler has None.
      if (on.context.assumed.any()) {
        const auto names = tuple_items(values, effect.inputs[1]);
        if (names && names->empty()) effect.inputs[1] = values.none();
      }
      break;
    case Op::BuildSetUnpack: {
      // Python 3.8's `{*()}`, for which see folded_set().
      const auto items = instr.a == 1 ? tuple_items(values, effect.inputs[0]) : std::nullopt;
      if (items && items->empty()) {
        effect.op = Op::BuildSet;
        effect.a = 0;
        effect.inputs.clear();
      }
      break;
    }
    case Op::IsOp:
    case Op::ContainsOp:
      // `not in` is the same effect; finish() negates the result.
      effect.a = 0;
      break;
    case Op::LoadMethod:
      effect.op = Op::LoadAttr;
      effect.results = 1;
      break;
    case Op::Call:
    case Op::CallKw:
      effect.inputs = without_null(values, std::move(effect.inputs), instr.b);
      effect.a = 0;
      // A call of iter() is GET_ITER.
      if (instr.op == Op::Call && effect.inputs.size() == 2) {
        const Constant* callee = values.as_constant(effect.inputs[0]);
        if (callee != nullptr && callee->kind == object::ConstKind::Opaque &&
            callee->integer == static_cast<int64_t>(object::Known::Iter)) {
          effect.op = Op::GetIter;
          effect.inputs.erase(effect.inputs.begin());
        }
      }
      break;
    case Op::CallEx:
      effect.inputs = without_null(values, std::move(effect.inputs), instr.b);
      // A NULL for keyword arguments means that there are none.
      if (!effect.inputs.empty() && values.is(effect.inputs.back(), Kind::Null)) {
        effect.inputs.pop_back();
      }
      effect.a = effect.b = 0;
      // (No compiler leaves both slots of the callee non-NULL.)
      if (instr.b == 1 || effect.inputs.size() < reads) pass_items(values, state, effect);
      break;
    case Op::BuildConstKeyMap: {
      // With other keys than strings: see dictionaries.cpp.
      const auto keys = tuple_items(values, effect.inputs.back());
      if (!keys || keys->size() + 1 != effect.inputs.size()) break;
      std::vector<Value> pairs;
      for (size_t i = 0; i < keys->size(); ++i) {
        pairs.push_back((*keys)[i]);
        pairs.push_back(effect.inputs[i]);
      }
      effect.op = Op::BuildMap;
      effect.a = static_cast<uint32_t>(keys->size());
      effect.inputs = std::move(pairs);
      break;
    }
    case Op::WithExceptStart: {
      // The manager's __exit__, and the exception.
      const uint32_t exception = stack.size() >= 3 && instr.a >= 7 ? 3 : 1;
      PELLUCID_CHECK(instr.a >= 1 && instr.a <= stack.size() && exception <= stack.size());
      effect.inputs.assign(stack.end() - exception, stack.end());
      effect.inputs.push_back(stack[stack.size() - instr.a]);
      effect.a = 0;
      break;
    }
    case Op::StoreName:
      // In a class body (3.13+), __firstlineno__ is metadata and __static_attributes__ is a set
      // that the compiler writes in any order.
      if (on.code.version.minor < 13 || (on.code.flags & object::kOptimized)) break;
      if (values.text(Name(effect.a)) == "__firstlineno__" &&
          as_integer(values, effect.inputs[0])) {
        effect.inputs[0] = values.none();
      } else if (values.text(Name(effect.a)) == "__static_attributes__") {
        effect.inputs[0] = sorted(values, effect.inputs[0]);
      }
      break;
    default:
      break;
  }
}

}  // namespace

Effect Machine::effect(const State& state, const Point& point) const {
  Effect effect;
  const Instr& instr = on_.instr(point);
  const std::vector<Value>& stack = state[on_.side].stack;
  effect.op = instr.op;
  effect.offset = instr.offset;
  effect.handler = on_.block(point).handler;
  const auto top = [&](size_t count) {
    PELLUCID_CHECK(count <= stack.size());
    effect.inputs.assign(stack.end() - static_cast<ptrdiff_t>(count), stack.end());
  };
  if (!on_.at_exit(point)) {
    describe(on_, instr, state, effect);
    if (auto items = folded_set(on_, point)) {
      effect.unordered = true;
      effect.a = static_cast<uint32_t>(items->size());
      effect.inputs = std::move(*items);
    } else if (auto added = added_one_by_one(on_, state, point); !added.empty()) {
      effect.a = static_cast<uint32_t>(added.size());
      effect.inputs = std::move(added);
    }
    return effect;
  }
  effect.exit = on_.block(point).exit.kind;
  effect.raises = true;
  switch (effect.exit) {
    case ExitKind::Branch:
      // The truth test comes first; the branch is taken once the result is known.
      effect.op = Op::ToBool;
      effect.exit = ExitKind::Goto;
      if (instr.b == flow::kLostTest) effect.handler = {};
      top(1);
      break;
    case ExitKind::ForIter:
      effect.results = 1;
      top(1 + instr.b);
      effect.inputs.resize(1);
      break;
    case ExitKind::Send:
      effect.results = 1;
      top(instr.b == 2 ? 3 : 2);
      if (instr.b == 2) effect.inputs.erase(effect.inputs.begin() + 1);
      break;
    case ExitKind::Return:
      effect.raises = false;
      top(1);
      break;
    case ExitKind::Raise:
      effect.always = true;
      effect.a = instr.a;
      top(instr.a);
      break;
    case ExitKind::Reraise:
      effect.always = true;
      effect.a = instr.a;
      effect.b = instr.b != 0;
      top(instr.a);
      break;
    case ExitKind::Goto:
    case ExitKind::BranchNone:
      PELLUCID_CHECK(false);
  }
  return effect;
}

void Machine::finish(State& state, Point& point, const std::vector<Value>& results,
                     size_t way) const {
  Release release(on_);
  if (on_.context.releases) {
    // An iterator that has ended, or a value that was sent, may have others above it.
    const Instr& instr = on_.instr(point);
    const size_t pops = on_.at_exit(point) ? 2 + instr.b : bytecode::stack_effect(instr).pops;
    release.add_top(state, pops);
  }
  take_effect(state, point, results, way);
  release.log(state);
}

void Machine::take_effect(State& state, Point& point, const std::vector<Value>& results,
                          size_t way) const {
  Values& values = on_.values();
  Half& half = state[on_.side];
  std::vector<Value>& stack = half.stack;
  const Instr& instr = on_.instr(point);
  if (on_.at_exit(point)) {
    const flow::Exit& exit = on_.block(point).exit;
    switch (exit.kind) {
      case ExitKind::ForIter:
        if (way == 0) stack.push_back(results[0]);
        if (way == 1) stack.resize(stack.size() - 1 - exit.instr.b);
        go(state, point, way);
        return;
      case ExitKind::Send:
        stack.back() = results[0];
        go(state, point, way);
        return;
      case ExitKind::Branch:  // executed again with the known result
      case ExitKind::Goto:
      case ExitKind::BranchNone:
      case ExitKind::Return:
      case ExitKind::Raise:
      case ExitKind::Reraise:
        return;
    }
  }
  const bool is_not =
      instr.op == Op::Unary && instr.a == static_cast<uint32_t>(bytecode::UnaryOperator::Not);
  // The fact is in the state now: these are executed again.
  if (is_not || instr.op == Op::ToBool || instr.op == Op::LoadFast || instr.op == Op::DeleteFast) {
    return;
  }
  const std::vector<Value> added = added_one_by_one(on_, state, point);
  if (std::find(added.begin(), added.end(), half.tested) != added.end()) {
    half.tested = half.truth = Value();
  }
  point.at += folded_set(on_, point) ? 3 : 1 + 2 * static_cast<uint32_t>(added.size());
  if (instr.op == Op::MakeCell) {
    half.locals.set(values, on_.slot(instr), results[0]);
    return;
  }
  const bytecode::StackEffect moves = bytecode::stack_effect(instr);
  PELLUCID_CHECK(moves.pops <= stack.size());
  stack.resize(stack.size() - moves.pops);
  // Either slot may be the NULL: a call takes the other one.
  if (instr.op == Op::LoadMethod) stack.push_back(values.null());
  for (Value result : results) stack.push_back(result);
  const bool inverts = instr.op == Op::ContainsOp || instr.op == Op::IsOp;
  if (inverts && instr.a) stack.back() = values.negation(stack.back());
  // Up to 3.10 the end of an asynchronous loop also ends the handling of its StopAsyncIteration.
  if (instr.op == Op::EndAsyncFor && instr.a == 7 && !half.exceptions.empty()) {
    half.exceptions.pop_back();
  }
}

}  // namespace pellucid::verify
