// SPDX-License-Identifier: Apache-2.0
// Functions that have not escaped from the frame.
//
// Making a function runs no user code and cannot fail, and nothing observes the function until it
// escapes. So it is a container (state.h) of the values it was made from; each execution makes a
// new object. What can be observed later is what it took from the globals when it was made, its
// __module__ and its builtins: loads of names do not change these, any other effect may rebind
// them. So at such an effect the functions of both sides are unified.
#include <algorithm>

#include "base/check.h"
#include "verify/walk/walk.h"

namespace pellucid::verify {

namespace {

// Returns the index of an attribute in the container.
std::optional<size_t> item_of(uint32_t flag, object::Version version) {
  switch (flag) {
    case bytecode::kDefaults:
      return Container::kFirstAttribute;
    case bytecode::kKwDefaults:
      return Container::kFirstAttribute + 1;
    case bytecode::kAnnotations:
      return Container::kFirstAttribute + 2;
    case bytecode::kClosure:
      return Container::kFirstAttribute + 3;
    case bytecode::kAnnotate:
      if (version.minor < 14) return std::nullopt;
      return Container::kFirstAttribute + 4;
    default:
      return std::nullopt;
  }
}

bool is_string(const Values& values, Value value) {
  const Constant* constant = values.as_constant(value);
  return constant != nullptr && constant->kind == object::ConstKind::Str;
}

}  // namespace

// On the stack: code, and up to 3.10 the qualified name.
bool Machine::make_function(State& state, const Instr& instr) const {
  constexpr uint32_t kOnStack =
      bytecode::kDefaults | bytecode::kKwDefaults | bytecode::kAnnotations | bytecode::kClosure;
  Values& values = *context_->values;
  std::vector<Value>& stack = state[side_].stack;
  if ((instr.a & ~kOnStack) != 0 || instr.b > 1) return false;
  const uint32_t count = bytecode::stack_effect(instr).pops;
  PELLUCID_CHECK(count <= stack.size());
  const std::vector<Value> given(stack.end() - count, stack.end());
  const Value code = given[count - 1 - instr.b];
  if (!values.is(code, Kind::Code)) return false;
  if (instr.b == 1 && !is_string(values, given.back())) return false;
  std::vector<Value> items(Container::kFirstAttribute + 5, values.null());
  items[Container::kCode] = code;
  if (instr.b == 1) items[Container::kQualname] = given.back();
  size_t next = 0;
  for (uint32_t flag = bytecode::kDefaults; flag <= bytecode::kClosure; flag <<= 1) {
    if (!(instr.a & flag)) continue;
    if (!values.is_object(given[next])) return false;
    items[*item_of(flag, code_->version)] = given[next++];
  }
  stack.resize(stack.size() - count);
  const object::Module& module = values.module(side_);
  const Name name = values.name(side_, module[object::CodeId(values[code].x)].name);
  stack.push_back(values.fresh(Kind::Fresh, name));
  state.heap.push_back({stack.back(), side_, Container::kFunction, std::move(items)});
  return true;
}

// On the stack: attribute, function.
bool Machine::set_function_attribute(State& state, const Instr& instr) const {
  Values& values = *context_->values;
  std::vector<Value>& stack = state[side_].stack;
  PELLUCID_CHECK(stack.size() >= 2);
  Container* function = state.container(stack.back());
  const Value attribute = stack[stack.size() - 2];
  const auto at = item_of(instr.a, code_->version);
  if (function == nullptr || function->shape != Container::kFunction || !at) return false;
  // A previous attribute would be released.
  if (!values.is(function->items[*at], Kind::Null) || !values.is_object(attribute)) return false;
  function->items[*at] = attribute;
  stack.erase(stack.end() - 2);
  return true;
}

// Returns true if the effect cannot rebind the globals that a function takes when it is made.
bool Walk::passes_functions(const Effect& effect) const {
  switch (effect.op) {
    case Op::LoadFast:
    case Op::DeleteFast:
    case Op::LoadDeref:
    case Op::LoadGlobal:
    case Op::LoadName:
    case Op::LoadClassDeref:
    case Op::LoadFromDictOrDeref:
    case Op::LoadFromDictOrGlobals:
      return effect.exit == ExitKind::Goto;
    default:
      return false;
  }
}

// Returns true if the cells that a function refers to are reached only through the function.
bool Walk::hides_cells(const State& state, Value value) const {
  const Container* function = state.container(value);
  return function != nullptr && function->shape == Container::kFunction &&
         std::all_of(function->items.begin(), function->items.end(), [&](Value item) {
           const Container* container = state.container(item);
           return container == nullptr || is_closure(values_, *container);
         });
}

// Unifies two values of the frames. The contents of a container are lost by that; for a function,
// the cells that it refers to stay known.
bool Walk::make_one(State& state, Value x, Value y) {
  const bool is_new = values_.is(x, Kind::Fresh) || values_.is(y, Kind::Fresh);
  if (!is_new || state.cells.empty()) return unify(values_, state, x, y, pairs_);
  if (!hides_cells(state, x) || !hides_cells(state, y)) {
    lose_behind(state, {x, y});
    return unify(values_, state, x, y, pairs_);
  }
  const std::vector<uint32_t> cells = cells_behind(state, {x, y});
  std::vector<Value> made;
  const bool is_one = unify(values_, state, x, y, pairs_, &made);
  for (const Value value : made) context_.assumed.made(value, cells);
  return is_one;
}

// Unifies the functions of A and B that were made from the same values, in the order of
// settle_heap(). Gives up the remaining ones if `all`, that is, if each must have a counterpart.
void Walk::settle_functions(State& state, bool all) {
  const auto is_function = [](const Container& container) {
    return container.shape == Container::kFunction;
  };
  if (std::none_of(state.heap.begin(), state.heap.end(), is_function)) return;
  collect(values_, state);
  std::vector<Value> of[2];
  for (const Container& container : state.heap) {
    if (is_function(container)) of[index(container.side)].push_back(container.self);
  }
  if (of[1].size() > of[0].size()) {
    for (std::vector<Value>& made : of) std::reverse(made.begin(), made.end());
  }
  for (size_t i = of[0].size(); i-- > 0;) {
    for (size_t j = of[1].size(); j-- > 0;) {
      // Both may have been unified as items of a container.
      const Value a = of[0][i], b = of[1][j];
      if (state.container(a) == nullptr || state.container(b) == nullptr) continue;
      if (values_[a].hint == values_[b].hint && make_one(state, a, b)) break;
    }
  }
  if (!all) return;
  for (const std::vector<Value>& side : of) {
    for (const Value left : side) {
      if (state.container(left) == nullptr) continue;
      lose_behind(state, {left});
      std::string hint(values_.text(values_[left].hint));
      give_up(values_, state, left, values_.name(hint += " that is made earlier than the other"));
    }
  }
}

}  // namespace pellucid::verify
